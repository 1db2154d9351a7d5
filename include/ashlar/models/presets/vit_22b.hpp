// ViT-22B's block as timm has it: parallel sublayers, QK-norm, all products of the input in one.
#pragma once

#include <ashlar/models/presets/vit.hpp>
#include <ashlar/nn/wiring/parallel.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Dehghani et al. 2023.
struct Vit22bSpec : VitSpec {
  using Mixer = Attention<NoPosition, PerHeadNorm<LayerNorm>, NoMask>;
  using Ffn = Mlp<act::Gelu>;
  using Wiring = ParallelOneNorm;
};

/// config.json holds the arguments of timm's VisionTransformer.
struct Vit22bFamily {
  using Lm = VisionEncoder<Vit22bSpec>;
  static constexpr std::string_view name = "vit-22b-like";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    expect_switch(j, "class_token", true);
    expect_switch(j, "qk_norm", true);
    if (const auto pool = j.string("global_pool", "token"); pool != "token")
      j.refuse("global_pool", pool, "token");
    if (j.has("init_values")) j.refuse("init_values", "a number", "null");
    DecoderBlock<Vit22bSpec>::Config layer;
    layer.dims = read_dims(j, timm_keys, ffn_width_of(j, "mlp_ratio", 4, j.size("embed_dim")));
    layer.norm.eps = layer.mixer.qk_norm.eps =
        static_cast<float>(j.positive("layer_norm_eps", 1e-6));
    const bool bias = j.boolean("qkv_bias", false);
    layer.mixer.bias = {bias, bias, bias, true};
    Lm::Config c;
    fill_vision(c, j, layer, "img_size", j.size("depth", -1, 1, 10'000));
    c.registers = j.size("reg_tokens", 0, 0, 10'000);
    c.heads.classifier.rows = rows_of(checkpoint, "head.weight");
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    const Dims& d = c.stack.layers[0].dims;
    const std::string block = "blocks.{}.";
    NamePairs n;
    n.one("class_token", "cls_token", {.shape = {c.d_model}})
        .one("registers", "reg_token", {.shape = {c.registers, c.d_model}})
        .one("position", "pos_embed", {.shape = position_shape(c)})
        .one("patches.weight", "patch_embed.proj.weight", {.shape = patch_shape(c)})
        .one("patches.bias", "patch_embed.proj.bias")
        .norm("layers.{}.mixer_norm", block + "in_norm")
        .norm("layers.{}.mixer.q_norm", block + "q_norm")
        .norm("layers.{}.mixer.k_norm", block + "k_norm")
        .linear("layers.{}.mixer.o", block + "attn_out_proj")
        .linear("layers.{}.ffn.down", block + "mlp_out_proj")
        .norm("final_norm", "norm")
        .head("heads.classifier", "head");
    // Rows [feed-forward; q; k; v].
    const index_t F = d.d_ff, D = d.d_model, all = F + 3 * D;
    n.linear("layers.{}.ffn.up", block + "in_proj", {.total_rows = all});
    if (checkpoint.tensors().find("blocks.0.mlp_bias"))
      n.one("layers.{}.ffn.up_bias", block + "mlp_bias");
    const char* const names[] = {"q", "k", "v"};
    for (index_t i = 0; i < 3; ++i)
      n.linear(std::string("layers.{}.mixer.") + names[i], block + "in_proj",
               {.first_row = F + i * D, .total_rows = all});
    return n.map();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
