// The tensor names that most Hugging Face decoders share; a family adds what differs.
#pragma once

#include <ashlar/nn/dims.hpp>
#include <ashlar/weights/name_map.hpp>
#include <ashlar/weights/tensor_source.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Llama's names: norms before both sublayers, q, k, v, o, gate, up, down, and all their biases.
inline NameMap hugging_face_names() {
  NameMap map{.model = {{"embedding", "model.embed_tokens.weight"},
                        {"final_norm.gain", "model.norm.weight"},
                        {"final_norm.bias", "model.norm.bias"},
                        {"head", "lm_head.weight"},
                        {"head_bias", "lm_head.bias"}},
              .ignored = {"rotary_emb.inv_freq", "lm_head.weight"}};
  const auto layer = [&](const char* weight, const char* stored) {
    map.layer.push_back({weight, std::string("model.layers.{}.") + stored});
  };
  layer("mixer_norm.gain", "input_layernorm.weight");
  layer("mixer_norm.bias", "input_layernorm.bias");
  layer("ffn_norm.gain", "post_attention_layernorm.weight");
  layer("ffn_norm.bias", "post_attention_layernorm.bias");
  for (const char* name : {"q", "k", "v", "o"}) {
    const std::string weight = std::string("mixer.") + name;
    const std::string stored = std::string("model.layers.{}.self_attn.") + name + "_proj";
    map.layer.push_back({weight, stored + ".weight"});
    map.layer.push_back({weight + "_bias", stored + ".bias"});
  }
  for (const char* name : {"gate", "up", "down"}) {
    const std::string weight = std::string("ffn.") + name;
    const std::string stored = std::string("model.layers.{}.mlp.") + name + "_proj";
    map.layer.push_back({weight, stored + ".weight"});
    map.layer.push_back({weight + "_bias", stored + ".bias"});
  }
  for (const char* name : {"q_norm", "k_norm"}) {
    const std::string weight = std::string("mixer.") + name;
    const std::string stored = std::string("model.layers.{}.self_attn.") + name;
    map.layer.push_back({weight + ".gain", stored + ".weight"});
    map.layer.push_back({weight + ".bias", stored + ".bias"});
  }
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
