// The names that BART, Whisper and other models of fairseq's line give to a layer's weights.
#pragma once

#include <ashlar/models/config_reader.hpp>
#include <ashlar/models/presets/name_pairs.hpp>
#include <ashlar/nn/dims.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Layers "encoder.layers.{}." or "decoder.layers.{}.", of ours and of the checkpoint alike. `norm`
/// is "norm" for norms before the sublayers, "stream_norm" for those after the sum.
inline void add_fairseq_layers(NamePairs& n, const std::string& stack, const std::string& norm) {
  const std::string layer = stack + "layers.{}.";
  const auto attention = [&](const std::string& mixer, const std::string& stored) {
    n.linear(layer + mixer + ".q", layer + stored + ".q_proj")
        .linear(layer + mixer + ".k", layer + stored + ".k_proj")
        .linear(layer + mixer + ".v", layer + stored + ".v_proj")
        .linear(layer + mixer + ".o", layer + stored + ".out_proj")
        .norm(layer + mixer + "_" + norm, layer + stored + "_layer_norm");
  };
  attention("mixer", "self_attn");
  attention("cross", "encoder_attn");
  n.linear(layer + "ffn.up", layer + "fc1")
      .linear(layer + "ffn.down", layer + "fc2")
      .norm(layer + "ffn_" + norm, layer + "final_layer_norm");
}

/// Dims of one of two stacks: "encoder_attention_heads", "decoder_ffn_dim".
inline Dims read_fairseq_dims(const ConfigReader& j, const std::string& stack, index_t d_model,
                              index_t heads, index_t d_ff) {
  Dims d;
  d.d_model = j.size("d_model", d_model);
  d.n_heads = d.n_kv_heads = j.size(stack + "_attention_heads", heads);
  if (d.d_model % d.n_heads != 0)
    fail<ValueError>(j.what("d_model"), " is ", d.d_model, ", expected a multiple of ", stack,
                     "_attention_heads ", d.n_heads);
  d.head_dim = d.d_model / d.n_heads;
  d.d_ff = j.size(stack + "_ffn_dim", d_ff);
  return d;
}

}  // namespace ashlar::inline ASHLAR_ABI
