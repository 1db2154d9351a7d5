// OPT: learned positions from row 2 on, biases everywhere, norms before the branches or after them.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/models/presets/gpt2.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Norms on the stream after each branch, and none at the end: OPT-350M.
struct PostNormOptSpec : Gpt2FileSpec {
  using Wiring = PostNorm;
  using FinalNorm = NoNorm;
};

/// Norms without weights: Galactica (Taylor et al. 2022).
struct WeightlessOptSpec : Gpt2FileSpec {
  using Norm = WeightlessLayerNorm;
};

/// Source: Zhang et al. 2022. Three kinds of one name.
template <class Spec_>
struct OptKind {
  using Spec = Spec_;
  static constexpr bool norm_before = !std::is_same_v<Spec, PostNormOptSpec>,
                        weightless = std::is_same_v<Spec, WeightlessOptSpec>;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "opt";

  static bool accepts(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    if (!j.boolean("do_layer_norm_before", true)) return !norm_before;
    return norm_before && j.boolean("layer_norm_elementwise_affine", true) != weightless;
  }
  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{.n_kv_heads = "",
                        .head_dim = "",
                        .d_ff = "ffn_dim",
                        .absent = {.d_model = 768,
                                   .n_heads = 12,
                                   .d_ff = 3072,
                                   .layers = 12,
                                   .positions = 2048,
                                   .vocabulary = 50272}};
    if (norm_before)
      expect_switch(j, "_remove_final_layer_norm", false);
    else
      expect_switch(j, "layer_norm_elementwise_affine", true);
    typename Lm::Block::Config layer{.dims = read_dims(j, keys)};
    const bool bias = j.boolean("enable_bias", true);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn.bias = bias;
    layer.ffn.activation = read_activation(j, "activation_function", "relu");
    typename Lm::Config c;
    fill_model(c, j, layer, true, keys);
    const index_t width = j.size("word_embed_proj_dim", c.d_model);
    if (width != c.d_model) c.embedding_width = width;
    c.position.offset = 2;
    c.position.positions = c.context_length + c.position.offset;
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const typename Lm::Config&) {
    NameMap map = NamePairs("model.decoder.")
                      .one("embedding", "embed_tokens.weight")
                      .one("position.table", "embed_positions.weight")
                      .one("project_in", "project_in.weight")
                      .one("project_out", "project_out.weight")
                      .norm("final_norm", "final_layer_norm")
                      .ignore("lm_head.weight")
                      .map();
    map.model.push_back({"head", "lm_head.weight"});
    const std::string norm = norm_before ? "_norm" : "_stream_norm";
    map += NamePairs("model.decoder.layers.{}.")
               .norm("mixer" + norm, "self_attn_layer_norm")
               .linear("mixer.q", "self_attn.q_proj")
               .linear("mixer.k", "self_attn.k_proj")
               .linear("mixer.v", "self_attn.v_proj")
               .linear("mixer.o", "self_attn.out_proj")
               .norm("ffn" + norm, "final_layer_norm")
               .linear("ffn.up", "fc1")
               .linear("ffn.down", "fc2")
               .layer_map();
    drop_absent_prefix(map, checkpoint.tensors(), "model.");
    return map;
  }
};
using OptFamily =
    Families<OptKind<Gpt2FileSpec>, OptKind<WeightlessOptSpec>, OptKind<PostNormOptSpec>>;

}  // namespace ashlar::inline ASHLAR_ABI
