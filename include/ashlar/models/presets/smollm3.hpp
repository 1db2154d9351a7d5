// SmolLM3: Llama's block, every fourth layer without positions.
#pragma once

#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Hugging Face 2025, "SmolLM3"; Kazemnejad et al. 2023, NoPE.
struct SmolLm3Family : InBothForms<SmolLm3Family> {
  using Spec = WindowedLlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "smollm3";

  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {2048, 16, 4, -1, 11008, 36, 32768, 128256}};
    auto layer = read_llama_layer<Lm::Block::Config>(j, sizes, 1e-6, {.theta = 2e6});
    layer.mixer.bias = read_attention_bias(j);
    layer.ffn.bias = j.boolean("mlp_bias", false);
    Lm::Config c;
    fill_model(c, j, layer, true, sizes);

    const std::vector<bool> turns = rotary_layers(j, c.layers.size());
    const bool windows = j.boolean("use_sliding_window", false) && j.has("sliding_window");
    const auto sliding = read_sliding_layers(j, c.layers.size(), [&](index_t i) {
      return windows && !turns[static_cast<std::size_t>(i)];
    });
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      if (!turns[i]) c.layers[i].mixer.position.rule = {.width = 0};
      if (sliding[i]) c.layers[i].mixer.mask = read_window(j);
    }
    return c;
  }
  /// no_rope_layers says 1 where there are positions.
  static std::vector<bool> rotary_layers(const ConfigReader& j, std::size_t layers) {
    const std::vector<double> listed = j.numbers("no_rope_layers");
    if (!listed.empty() && listed.size() < layers)
      fail<ValueError>(j.what("no_rope_layers"), " has ", listed.size(),
                       " entries, expected at least ", layers);
    const index_t every = j.size("no_rope_layer_interval", 4);
    std::vector<bool> turns(layers);
    for (std::size_t i = 0; i < layers; ++i)
      turns[i] = listed.empty() ? static_cast<index_t>(i + 1) % every != 0 : listed[i] != 0;
    return turns;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    auto layer = read_llama_layer<Lm::Block::Config>(g, RopePairing::interleaved);
    Lm::Config c;
    g.fill_model(c, layer);
    for (std::size_t i = 3; i < c.layers.size(); i += 4)
      c.layers[i].mixer.position.rule = {.width = 0};
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
