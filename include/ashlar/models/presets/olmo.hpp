// OLMo 1: Llama's block with LayerNorm without weights, and queries, keys and values within bounds.
#pragma once

#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct OlmoSpec : LlamaSpec {
  using Norm = WeightlessLayerNorm;
  using Ffn = Glu<act::Chosen>;
};

/// Source: Groeneveld et al. 2024.
struct OlmoFamily : InBothForms<OlmoFamily> {
  using Spec = OlmoSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "olmo";

  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {4096, 32, -1, -1, 11008, 32, 2048, 50304}};
    Lm::Block::Config layer{.dims = read_dims(j, sizes)};
    layer.mixer.position.rule =
        read_rope_rule(j, layer.dims.head_dim, {.positions = sizes.absent.positions});
    if (j.has("clip_qkv")) layer.mixer.clip = static_cast<float>(j.positive("clip_qkv"));
    layer.mixer.bias = read_attention_bias(j);
    layer.ffn.activation = read_activation(j, "hidden_act", "silu");
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Block::Config layer{.dims = g.dims()};
    layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_epsilon", 1e-5));
    layer.mixer.position.pairing = RopePairing::interleaved;  // rows stored as in Llama's files
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
    if (g.has("attention.clamp_kqv"))
      layer.mixer.clip = static_cast<float>(g.positive("attention.clamp_kqv"));
    layer.ffn.activation = ActivationKind::silu;
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
