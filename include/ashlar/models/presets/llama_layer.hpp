// What Llama and the many families after it say of a layer in the same words.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/hugging_face_names.hpp>
#include <ashlar/models/presets/rope_config.hpp>
#include <ashlar/nn/mixer/attention.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Sizes, rms_norm_eps (without it `eps`), the rotary rule, and hidden_act where the feed-forward
/// is one of several.
template <class Layer>
Layer read_llama_layer(const ConfigReader& j, const SizeKeys& sizes, double eps, RopeKeys rope = {},
                       std::string_view activation = "silu") {
  rope.positions = sizes.absent.positions;
  Layer layer{.dims = read_dims(j, sizes)};
  layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", eps));
  layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim, rope);
  if constexpr (requires { layer.ffn.activation = ActivationKind::silu; })
    layer.ffn.activation = read_activation(j, "hidden_act", activation);
  return layer;
}
/// The same from a GGUF file, where `pairing` says how the rows of q and k are stored: those of
/// Llama and of many others so that neighbours turn together.
template <class Layer>
Layer read_llama_layer(const GgufReader& g, RopePairing pairing) {
  Layer layer{.dims = g.dims()};
  layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_rms_epsilon"));
  layer.mixer.position = {g.rope_rule(layer.dims.head_dim), pairing};
  if constexpr (requires { layer.ffn.activation = ActivationKind::silu; })
    layer.ffn.activation = ActivationKind::silu;
  return layer;
}

/// All four products of attention have a bias, or none has.
inline AttentionBias read_attention_bias(const ConfigReader& j) {
  const bool bias = j.boolean("attention_bias", false);
  return {bias, bias, bias, bias};
}

/// A family that is read from folders and from GGUF files, by Family::from_json and from_gguf, with
/// the usual names in both.
template <class Family>
struct InBothForms {
  static auto config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? Family::from_gguf(GgufReader(*checkpoint.gguf()))
                             : Family::from_json(*checkpoint.config());
  }
  static NameMap names(const Checkpoint& checkpoint, const auto& /*config*/) {
    return checkpoint.gguf() ? gguf_names() : hugging_face_names();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
