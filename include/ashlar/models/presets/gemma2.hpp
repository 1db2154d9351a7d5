// Gemma 2: norms before and after each branch, soft-caps, a window on every second layer.
#pragma once

#include <ashlar/attention/score/soft_cap.hpp>
#include <ashlar/models/presets/gemma.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Gemma2Spec : GemmaSpec {
  using Mixer = Attention<Rope, NoQkNorm, SlidingWindow, SoftCap>;
  using Wiring = SandwichNorm;
};

/// Source: Gemma Team 2024, "Gemma 2".
struct Gemma2Family : detail::SandwichedGemma<Gemma2Family> {
  using Spec = Gemma2Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "gemma2";

  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {2304, 8, 4, 256, 9216, 26, 8192, 256000}};
    Lm::Block::Config layer = detail::read_gemma_layer<Lm>(j, sizes);
    layer.mixer.position.rule =
        read_rope_rule(j, layer.dims.head_dim, {.positions = sizes.absent.positions});
    layer.mixer.scale = detail::read_query_scale(j);
    layer.mixer.score = SoftCap(detail::read_cap(j, "attn_logit_softcapping", 50));
    layer.ffn.activation = read_activation(j, "hidden_activation", "gelu_pytorch_tanh");
    Lm::Config c;
    fill_model(c, j, layer, true, sizes);
    c.logit_cap = detail::read_cap(j, "final_logit_softcapping", 30);
    const auto sliding =
        read_sliding_layers(j, c.layers.size(), [](index_t i) { return i % 2 == 0; });
    for (std::size_t i = 0; i < sliding.size(); ++i)
      if (sliding[i]) c.layers[i].mixer.mask = read_window(j, 4096);
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Block::Config layer = detail::read_gemma_layer<Lm>(g);
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
    layer.mixer.scale = detail::query_scale(g, layer.dims, 46);
    layer.mixer.score = SoftCap(static_cast<float>(g.positive("attn_logit_softcapping", 50)));
    Lm::Config c;
    g.fill_model(c, layer);
    c.logit_cap = static_cast<float>(g.positive("final_logit_softcapping", 30));
    for (std::size_t i = 0; i < c.layers.size(); i += 2)
      c.layers[i].mixer.mask = SlidingWindow(g.size("attention.sliding_window", 4096));
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
