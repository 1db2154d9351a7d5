// The tensor names that most Hugging Face decoders share; a family adds what differs.
#pragma once

#include <ashlar/nn/dims.hpp>
#include <ashlar/weights/name_map.hpp>
#include <ashlar/weights/tensor_source.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Llama's names: norms before both sublayers, q, k, v, o, gate, up, down, and all their biases.
inline NameMap hugging_face_names() {
  static constexpr NamePair model[] = {{"embedding", "model.embed_tokens"}, {"head", "lm_head"}};
  static constexpr NamePair final_norm[] = {{"final_norm", "model.norm"}};
  static constexpr NamePair norms[] = {{"mixer_norm", "input_layernorm"},
                                       {"ffn_norm", "post_attention_layernorm"},
                                       {"mixer.q_norm", "self_attn.q_norm"},
                                       {"mixer.k_norm", "self_attn.k_norm"}};
  static constexpr NamePair products[] = {
      {"mixer.q", "self_attn.q_proj"}, {"mixer.k", "self_attn.k_proj"},
      {"mixer.v", "self_attn.v_proj"}, {"mixer.o", "self_attn.o_proj"},
      {"ffn.gate", "mlp.gate_proj"},   {"ffn.up", "mlp.up_proj"},
      {"ffn.down", "mlp.down_proj"}};
  NameMap map;
  add_products(map.model, model);
  add_norms(map.model, final_norm);
  add_norms(map.layer, norms, "model.layers.{}.");
  add_products(map.layer, products, "model.layers.{}.");
  map.ignored = {"rotary_emb.inv_freq", "lm_head.weight"};
  return map;
}

/// Norms of branches: of the mixer's and the feed-forward's outputs. A norm before the feed-forward
/// then has another name than Llama's, whose name the first of these has.
inline void add_branch_norms(NameMap& map) {
  const std::string layer = "model.layers.{}.";
  map.layer.push_back({"mixer_branch_norm.gain", layer + "post_attention_layernorm.weight"});
  map.layer.push_back({"ffn_norm.gain", layer + "pre_feedforward_layernorm.weight"});
  map.layer.push_back({"ffn_branch_norm.gain", layer + "post_feedforward_layernorm.weight"});
}

/// Norms of queries and keys with weights of every head, stored as [heads, H].
inline void store_head_norms_as_matrices(NameMap& map, const Dims& d) {
  for (NameRule& rule : map.layer) {
    if (rule.weight.starts_with("mixer.q_norm.")) rule.as.shape = {d.n_heads, d.head_dim};
    if (rule.weight.starts_with("mixer.k_norm.")) rule.as.shape = {d.n_kv_heads, d.head_dim};
  }
}

/// gate_up_proj: all rows of the gate, then all of up.
inline void add_fused_gate_up(NameMap& map, index_t d_ff) {
  const std::string stored = "model.layers.{}.mlp.gate_up_proj.weight";
  map.layer.push_back({"ffn.gate", stored, {.total_rows = 2 * d_ff}});
  map.layer.push_back({"ffn.up", stored, {.first_row = d_ff, .total_rows = 2 * d_ff}});
}

/// Files of a model saved without its head leave out the prefix of all other names.
inline void drop_absent_prefix(NameMap& map, const TensorSource& tensors, std::string_view prefix) {
  const auto bare = [&](const NameRule& rule) {
    return rule.weight == "embedding" && tensors.find(rule.stored) == nullptr &&
           tensors.find(rule.stored.substr(prefix.size())) != nullptr;
  };
  if (std::any_of(map.model.begin(), map.model.end(), bare)) map.replace_prefix(prefix, "");
}

}  // namespace ashlar::inline ASHLAR_ABI
