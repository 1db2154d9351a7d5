// MPT: ALiBi in an order of its own, norms and products without biases.
#pragma once

#include <ashlar/models/presets/bloom.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: MosaicML 2023. As Hugging Face's class it takes ALiBi's maximum as 8, the feed-forward
/// as four times as wide, and no biases, whatever expansion_ratio and no_bias say: the tensors of a
/// checkpoint for which that is wrong do not fit. What no tensor shows is refused.
struct MptFamily {
  using Spec = AlibiSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "mpt";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{
        .d_model = "d_model",
        .n_heads = "n_heads",
        .n_kv_heads = "",
        .head_dim = "",
        .d_ff = "",
        .layers = "n_layers",
        .positions = "max_seq_len",
        .absent = {
            .d_model = 2048, .n_heads = 16, .layers = 24, .positions = 2048, .vocabulary = 50368}};
    Lm::Block::Config layer{.dims =
                                read_dims(j, keys, 4 * j.size(keys.d_model, keys.absent.d_model))};
    layer.norm = {.eps = static_cast<float>(j.positive("layer_norm_epsilon", 1e-5)), .bias = false};
    layer.ffn.bias = false;
    layer.mixer.score.slopes = alibi_slopes(layer.dims.n_heads, AlibiOrder::mpt);
    if (const auto attention = j.object("attn_config")) {
      expect_switch(*attention, "alibi", true);
      expect_switch(*attention, "prefix_lm", false);
      expect_switch(*attention, "qk_ln", false);
      if (attention->number("alibi_bias_max", 8) != 8)
        attention->refuse("alibi_bias_max", join(attention->number("alibi_bias_max", 8)), "8");
      if (attention->has("clip_qkv"))
        layer.mixer.clip = static_cast<float>(attention->positive("clip_qkv"));
      if (attention->has("softmax_scale"))
        layer.mixer.scale = static_cast<float>(attention->positive("softmax_scale"));
    }
    const std::string norm = j.string("norm_type", "low_precision_layernorm");
    if (norm != "low_precision_layernorm" && norm != "layernorm")
      j.refuse("norm_type", norm, "low_precision_layernorm, layernorm");
    if (j.has("logit_scale")) j.refuse("logit_scale", "set", "null");
    Lm::Config c;
    fill_model(c, j, layer, true, keys);
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    NameMap map = NamePairs("transformer.")
                      .one("embedding", "wte.weight")
                      .norm("final_norm", "norm_f")
                      .ignore("lm_head.weight")
                      .map();
    map.model.push_back({"head", "lm_head.weight"});
    map += NamePairs("transformer.blocks.{}.")
               .norm("mixer_norm", "norm_1")
               .fused_qkv("attn.Wqkv", c.layers.at(0).dims)
               .linear("mixer.o", "attn.out_proj")
               .norm("ffn_norm", "norm_2")
               .linear("ffn.up", "ffn.up_proj")
               .linear("ffn.down", "ffn.down_proj")
               .layer_map();
    drop_absent_prefix(map, checkpoint.tensors(), "transformer.");
    return map;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
