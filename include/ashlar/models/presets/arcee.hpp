// Arcee's AFM: Llama's block with an ungated squared ReLU.
#pragma once

#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct ArceeSpec : LlamaSpec {
  using Ffn = Mlp<act::Chosen>;
};

/// Source: Arcee AI 2025, "AFM-4.5B"; So et al. 2021, squared ReLU.
struct ArceeFamily : InBothForms<ArceeFamily> {
  using Spec = ArceeSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "arcee";

  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {2560, 32, -1, -1, 18432, 32, 4096, 32000}};
    auto layer = read_llama_layer<Lm::Block::Config>(j, sizes, 1e-5, {}, "relu2");
    layer.mixer.bias = read_attention_bias(j);
    layer.ffn.bias = j.boolean("mlp_bias", false);
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    auto layer = read_llama_layer<Lm::Block::Config>(g, RopePairing::interleaved);
    layer.ffn = {.bias = false, .activation = ActivationKind::relu_squared};
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
