// BLOOM: ALiBi instead of positions, a norm of the embeddings, q, k and v head by head.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/models/presets/gptj.hpp>
#include <ashlar/nn/position/alibi.hpp>
#include <ashlar/nn/wiring/normed_stream.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct AlibiSpec : RotaryLayerNormSpec {
  using Mixer = Attention<NoPosition, NoQkNorm, CausalMask, AlibiBias>;
  using Ffn = Mlp<act::Gelu>;
};
struct BloomSpec : AlibiSpec {
  using Ffn = Mlp<act::GeluTanh>;
  using EmbeddingNorm = LayerNorm;
};
struct NormedStreamBloomSpec : BloomSpec {
  using Wiring = NormedStream;
};

namespace detail {
/// The first of two names of a setting, where the configuration has it; else the second.
inline std::string_view first_key(const ConfigReader& j, std::string_view a, std::string_view b) {
  return j.has(a) ? a : b;
}
}  // namespace detail

/// Source: BigScience 2022. Two kinds of one name.
template <bool NormsStream>
struct BloomKind {
  using Spec = std::conditional_t<NormsStream, NormedStreamBloomSpec, BloomSpec>;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "bloom";

  static bool accepts(const Checkpoint& checkpoint) {
    return checkpoint.json().boolean("apply_residual_connection_post_layernorm", false) ==
           NormsStream;
  }
  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    // That path of Hugging Face's class leaves out two biases.
    if (j.integer("pretraining_tp", 1) > 1) expect_switch(j, "slow_but_exact", false);
    const SizeKeys keys{
        .d_model = detail::first_key(j, "n_embed", "hidden_size"),
        .n_heads = detail::first_key(j, "num_attention_heads", "n_head"),
        .n_kv_heads = "",
        .head_dim = "",
        .d_ff = "",
        .layers = detail::first_key(j, "num_hidden_layers", "n_layer"),
        .absent = {
            .d_model = 64, .n_heads = 8, .layers = 2, .positions = 2048, .vocabulary = 250880}};
    typename Lm::Block::Config layer{
        .dims = read_dims(j, keys, 4 * j.size(keys.d_model, keys.absent.d_model))};
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_epsilon", 1e-5));
    layer.mixer.bias = {true, true, true, true};
    layer.mixer.score.slopes = alibi_slopes(layer.dims.n_heads);
    typename Lm::Config c;
    fill_model(c, j, layer, true, keys);
    c.context_length = 0;  // nothing ends with distance
    c.embedding_norm = layer.norm;
    return c;
  }
  /// Published files leave out the prefix "transformer.".
  static NameMap names(const Checkpoint& checkpoint, const typename Lm::Config& c) {
    NameMap map = NamePairs("transformer.")
                      .one("embedding", "word_embeddings.weight")
                      .norm("embedding_norm", "word_embeddings_layernorm")
                      .norm("final_norm", "ln_f")
                      .ignore("lm_head.weight")
                      .map();
    map.model.push_back({"head", "lm_head.weight"});
    map += NamePairs("transformer.h.{}.")
               .norm("mixer_norm", "input_layernorm")
               .grouped_qkv("self_attention.query_key_value", c.layers.at(0).dims)
               .linear("mixer.o", "self_attention.dense")
               .norm("ffn_norm", "post_attention_layernorm")
               .linear("ffn.up", "mlp.dense_h_to_4h")
               .linear("ffn.down", "mlp.dense_4h_to_h")
               .layer_map();
    drop_absent_prefix(map, checkpoint.tensors(), "transformer.");
    return map;
  }
};
using BloomFamily = Families<BloomKind<false>, BloomKind<true>>;

}  // namespace ashlar::inline ASHLAR_ABI
