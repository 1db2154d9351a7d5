// Granite 3: Llama's block with multipliers of embeddings, scores, branches and logits.
#pragma once

#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/mistral.hpp>
#include <ashlar/nn/residual/scaled.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct GraniteSpec : LlamaSpec {
  using Ffn = Glu<act::Chosen>;
  using Residual = ScaledResidual;
};

/// Source: IBM 2024, "Granite 3.0 Language Models".
struct GraniteFamily {
  using Spec = GraniteSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "granite";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? from_gguf(GgufReader(*checkpoint.gguf()))
                             : from_json(*checkpoint.config());
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return checkpoint.gguf() ? gguf_names() : hugging_face_names();
  }

 private:
  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {4096, 32, -1, -1, 11008, 32, 2048, 32000}};
    Lm::Block::Config layer{.dims = read_dims(j, sizes)};
    layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-6));
    layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim);
    const bool bias = j.boolean("attention_bias", false);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.mixer.scale = static_cast<float>(j.positive("attention_multiplier", 1));
    layer.residual.factor = static_cast<float>(j.number("residual_multiplier", 1));
    layer.ffn.bias = j.boolean("mlp_bias", false);
    layer.ffn.activation = read_activation(j, "hidden_act", "silu");
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    c.embedding_scale = static_cast<float>(j.number("embedding_multiplier", 1));
    c.logit_scale = static_cast<float>(1 / j.positive("logits_scaling", 1));
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Block::Config layer{.dims = g.dims()};
    layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_rms_epsilon"));
    layer.mixer.position.pairing = RopePairing::interleaved;  // rows stored as in Llama's files
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
    if (g.has("attention.scale"))
      layer.mixer.scale = static_cast<float>(g.positive("attention.scale"));
    layer.residual.factor = static_cast<float>(g.positive("residual_scale", 1));
    layer.ffn.activation = ActivationKind::silu;
    Lm::Config c;
    g.fill_model(c, layer);
    c.embedding_scale = static_cast<float>(g.positive("embedding_scale", 1));
    c.logit_scale = static_cast<float>(1 / g.positive("logit_scale", 1));
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
