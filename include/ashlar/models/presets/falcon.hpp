// Falcon: 7B (one norm, one key head), 40B and 180B (two norms, groups of heads), RW (serial).
#pragma once

#include <ashlar/models/presets/bloom.hpp>
#include <ashlar/models/presets/gpt_neox.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// The same block with ALiBi as Falcon-RW has it.
template <class Spec_>
struct FalconAlibiSpec : Spec_ {
  using Mixer = Attention<NoPosition, NoQkNorm, CausalMask, FalconAlibi>;
};

/// What config.json says of the block. Throws ValueError for switches that do not go together.
struct FalconShape {
  int norms = 1;  // before parallel branches; 0: serial, each branch has its own
  bool grouped = false, alibi = false;

  explicit FalconShape(const ConfigReader& j)
      : grouped(j.boolean("new_decoder_architecture", false)), alibi(j.boolean("alibi", false)) {
    const bool parallel = j.boolean("parallel_attn", true);
    if (!parallel && grouped) j.refuse("parallel_attn", "false", "true in the new architecture");
    norms =
        parallel ? static_cast<int>(j.size("num_ln_in_parallel_attn", grouped ? 2 : 1, 1, 2)) : 0;
    if (norms == 2 && !grouped)
      j.refuse("num_ln_in_parallel_attn", "2", "1, or 2 in the new architecture");
  }
};

/// Source: Almazrouei et al. 2023. Kinds of one name, by the norms before the branches and ALiBi.
template <class Spec_, int Norms, bool HasAlibi>
struct FalconKind {
  using Spec = std::conditional_t<HasAlibi, FalconAlibiSpec<Spec_>, Spec_>;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "falcon";

  static bool accepts(const Checkpoint& checkpoint) {
    const FalconShape shape(checkpoint.json());
    return shape.norms == Norms && shape.alibi == HasAlibi;
  }
  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{
        .d_model = detail::first_key(j, "n_embed", "hidden_size"),
        .n_heads = detail::first_key(j, "n_head", "num_attention_heads"),
        .n_kv_heads = detail::first_key(j, "n_head_kv", "num_kv_heads"),
        .head_dim = "",
        .d_ff = "ffn_hidden_size",
        .layers = detail::first_key(j, "n_layer", "num_hidden_layers"),
        .absent = {.d_model = 4544, .n_heads = 71, .layers = 32, .vocabulary = 65024}};
    typename Lm::Block::Config layer{
        .dims = read_dims(j, keys, 4 * j.size(keys.d_model, keys.absent.d_model))};
    Dims& d = layer.dims;
    if (!FalconShape(j).grouped) {
      if (j.boolean("multi_query", true))
        d.n_kv_heads = 1;
      else if (d.n_kv_heads != d.n_heads)
        j.refuse(keys.n_kv_heads, std::to_string(d.n_kv_heads),
                 std::to_string(d.n_heads) + ", other numbers in the new architecture only");
    }
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_epsilon", 1e-5));
    const bool bias = j.boolean("bias", false);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn.bias = bias;
    layer.ffn.activation = read_activation(j, "activation", "gelu");
    if constexpr (HasAlibi) {  // the scale comes after the bias
      std::vector<float> slopes = alibi_slopes(d.n_heads);
      // Hugging Face's plain attention adds the bias a second time, with its mask. Doubling a slope
      // changes no rounding.
      for (float& slope : slopes) slope *= 2;
      layer.mixer.score = {std::move(slopes),
                           static_cast<float>(1 / std::sqrt(static_cast<double>(d.head_dim)))};
      layer.mixer.scale = 1.f;
    } else {
      layer.mixer.position.rule =
          read_rope_rule(j, d.head_dim, {.positions = keys.absent.positions});
    }
    typename Lm::Config c;
    fill_model(c, j, layer, true, keys);
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const typename Lm::Config& c) {
    NameMap map = NamePairs("transformer.")
                      .one("embedding", "word_embeddings.weight")
                      .norm("final_norm", "ln_f")
                      .ignore("rotary_emb.inv_freq")
                      .ignore("lm_head.weight")
                      .map();
    map.model.push_back({"head", "lm_head.weight"});
    map += NamePairs("transformer.h.{}.")
               .norm("mixer_norm", Norms == 2 ? "ln_attn" : "input_layernorm")
               .grouped_qkv("self_attention.query_key_value", c.layers.at(0).dims)
               .linear("mixer.o", "self_attention.dense")
               .norm("ffn_norm", Norms == 2 ? "ln_mlp" : "post_attention_layernorm")
               .linear("ffn.up", "mlp.dense_h_to_4h")
               .linear("ffn.down", "mlp.dense_4h_to_h")
               .layer_map();
    drop_absent_prefix(map, checkpoint.tensors(), "transformer.");
    return map;
  }
};
using FalconFamily =
    Families<FalconKind<RotaryLayerNormSpec, 0, false>, FalconKind<RotaryLayerNormSpec, 0, true>,
             FalconKind<ParallelOneNormSpec, 1, false>, FalconKind<ParallelOneNormSpec, 1, true>,
             FalconKind<ParallelTwoNormsSpec, 2, false>, FalconKind<ParallelTwoNormsSpec, 2, true>>;

}  // namespace ashlar::inline ASHLAR_ABI
