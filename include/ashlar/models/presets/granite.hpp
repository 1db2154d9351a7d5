// Granite 3: Llama's block with multipliers of embeddings, scores, branches and logits.
#pragma once

#include <ashlar/models/presets/mistral.hpp>
#include <ashlar/nn/residual/scaled.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct GraniteSpec : LlamaSpec {
  using Ffn = Glu<act::Chosen>;
  using Residual = ScaledResidual;
};

/// Source: IBM 2024, "Granite 3.0 Language Models".
struct GraniteFamily : InBothForms<GraniteFamily> {
  using Spec = GraniteSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "granite";

  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {4096, 32, -1, -1, 11008, 32, 2048, 32000}};
    auto layer = read_llama_layer<Lm::Block::Config>(j, sizes, 1e-6);
    layer.mixer.bias = read_attention_bias(j);
    layer.mixer.scale = static_cast<float>(j.positive("attention_multiplier", 1));
    layer.residual.factor = static_cast<float>(j.number("residual_multiplier", 1));
    layer.ffn.bias = j.boolean("mlp_bias", false);
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    c.embedding_scale = static_cast<float>(j.number("embedding_multiplier", 1));
    c.logit_scale = static_cast<float>(1 / j.positive("logits_scaling", 1));
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    auto layer = read_llama_layer<Lm::Block::Config>(g, RopePairing::interleaved);
    if (g.has("attention.scale"))
      layer.mixer.scale = static_cast<float>(g.positive("attention.scale"));
    layer.residual.factor = static_cast<float>(g.positive("residual_scale", 1));
    Lm::Config c;
    g.fill_model(c, layer);
    c.embedding_scale = static_cast<float>(g.positive("embedding_scale", 1));
    c.logit_scale = static_cast<float>(1 / g.positive("logit_scale", 1));
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
