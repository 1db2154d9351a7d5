// Llama: Llama 1 to 3.x, SmolLM 1 and 2, and every checkpoint that calls itself "llama".
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/hugging_face_names.hpp>
#include <ashlar/models/presets/rope_config.hpp>
#include <ashlar/nn/specs.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Touvron et al. 2023; Grattafiori et al. 2024.
struct LlamaFamily {
  using Spec = LlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "llama";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? from_gguf(GgufReader(*checkpoint.gguf()))
                             : from_json(*checkpoint.config());
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return checkpoint.gguf() ? gguf_names() : hugging_face_names();
  }

 private:
  static Lm::Config from_json(const ConfigReader& j) {
    if (const auto act = j.string("hidden_act", "silu"); act != "silu" && act != "swish")
      j.refuse("hidden_act", act, "silu, swish");
    Lm::Block::Config layer{.dims = read_dims(j)};
    layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-6));
    layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim);
    const bool bias = j.boolean("attention_bias", false);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn.bias = j.boolean("mlp_bias", false);
    Lm::Config c;
    fill_model(c, j, layer, false);
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Block::Config layer{.dims = g.dims()};
    layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_rms_epsilon"));
    // The rows of q and k are stored so that neighbours turn together.
    layer.mixer.position.pairing = RopePairing::interleaved;
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
    const bool qkv = g.file().find("blk.0.attn_q.bias") != nullptr;
    layer.mixer.bias = {qkv, qkv, qkv, g.file().find("blk.0.attn_output.bias") != nullptr};
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
