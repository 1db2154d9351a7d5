// GPT-NeoX and Pythia: two norms before mixer and feed-forward side by side, or one after the
// other.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/models/presets/gptj.hpp>
#include <ashlar/models/presets/rope_config.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Black et al. 2022; Biderman et al. 2023, Pythia. Two kinds of one name.
template <bool Parallel>
struct GptNeoxKind {
  using Spec = std::conditional_t<Parallel, ParallelTwoNormsSpec, RotaryLayerNormSpec>;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "gpt_neox";

  static bool accepts(const Checkpoint& checkpoint) {
    return checkpoint.json().boolean("use_parallel_residual", true) == Parallel;
  }
  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{.n_kv_heads = "",
                        .head_dim = "",
                        .absent = {.d_model = 6144,
                                   .n_heads = 64,
                                   .d_ff = 24576,
                                   .layers = 44,
                                   .positions = 2048,
                                   .vocabulary = 50432}};
    typename Lm::Block::Config layer{.dims = read_dims(j, keys)};
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-5));
    layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim,
                                               {.partial = 0.25,
                                                .rounds_up = true,
                                                .positions = keys.absent.positions,
                                                .theta_key = "rotary_emb_base",
                                                .partial_key = "rotary_pct"});
    const bool bias = j.boolean("attention_bias", true);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn.activation = read_activation(j, "hidden_act", "gelu");
    typename Lm::Config c;
    fill_model(c, j, layer, false, keys);
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const typename Lm::Config& c) {
    NameMap map = NamePairs("gpt_neox.")
                      .one("embedding", "embed_in.weight")
                      .norm("final_norm", "final_layer_norm")
                      .ignore(".attention.bias")
                      .ignore(".attention.masked_bias")
                      .ignore("rotary_emb.inv_freq")
                      .ignore("embed_out.weight")
                      .map();
    map.model.push_back({"head", "embed_out.weight"});
    map += NamePairs("gpt_neox.layers.{}.")
               .norm("mixer_norm", "input_layernorm")
               .grouped_qkv("attention.query_key_value", c.layers.at(0).dims)
               .linear("mixer.o", "attention.dense")
               .norm("ffn_norm", "post_attention_layernorm")
               .linear("ffn.up", "mlp.dense_h_to_4h")
               .linear("ffn.down", "mlp.dense_4h_to_h")
               .layer_map();
    drop_absent_prefix(map, checkpoint.tensors(), "gpt_neox.");
    return map;
  }
};
using GptNeoxFamily = Families<GptNeoxKind<true>, GptNeoxKind<false>>;

}  // namespace ashlar::inline ASHLAR_ABI
