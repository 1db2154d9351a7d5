// ViT.
#pragma once

#include <ashlar/attention/mask/none.hpp>
#include <ashlar/models/presets/name_pairs.hpp>
#include <ashlar/models/presets/vision_config.hpp>
#include <ashlar/nn/ffn/mlp.hpp>
#include <ashlar/nn/mixer/attention.hpp>
#include <ashlar/nn/norm/layer_norm.hpp>
#include <ashlar/nn/residual/plain.hpp>
#include <ashlar/nn/wiring/serial.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Dosovitskiy et al. 2020.
struct VitSpec {
  using Norm = LayerNorm;
  using Mixer = Attention<NoPosition, NoQkNorm, NoMask>;
  using Ffn = Mlp<act::Chosen>;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
  using Heads = ClassHeads;
};

/// Files of the bare encoder leave out the prefix "vit.".
struct VitFamily {
  using Lm = VisionEncoder<VitSpec>;
  static constexpr std::string_view name = "vit";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    if (const auto act = j.string("pooler_act", "tanh"); act != "tanh")
      j.refuse("pooler_act", act, "tanh");
    DecoderBlock<VitSpec>::Config layer;
    layer.dims =
        read_dims(j, {.n_kv_heads = "", .head_dim = "", .absent = {768, 12, -1, -1, 3072}});
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-12));
    const bool bias = j.boolean("qkv_bias", true);
    layer.mixer.bias = {bias, bias, bias, true};
    layer.ffn.activation = read_activation(j, "hidden_act", "gelu");
    Lm::Config c;
    fill_vision(c, j, layer, "image_size", j.size("num_hidden_layers", 12, 1, 10'000));
    c.heads.pooler.on = rows_of(checkpoint, prefix(checkpoint) + "pooler.dense.weight") != 0;
    c.heads.classifier.rows = rows_of(checkpoint, "classifier.weight");
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    const std::string layer = "encoder.layer.{}.";
    NamePairs n(prefix(checkpoint));
    n.one("class_token", "embeddings.cls_token", {.shape = {c.d_model}})
        .one("position", "embeddings.position_embeddings", {.shape = position_shape(c)})
        .one("patches.weight", "embeddings.patch_embeddings.projection.weight",
             {.shape = patch_shape(c)})
        .one("patches.bias", "embeddings.patch_embeddings.projection.bias")
        .norm("layers.{}.mixer_norm", layer + "layernorm_before")
        .linear("layers.{}.mixer.q", layer + "attention.attention.query")
        .linear("layers.{}.mixer.k", layer + "attention.attention.key")
        .linear("layers.{}.mixer.v", layer + "attention.attention.value")
        .linear("layers.{}.mixer.o", layer + "attention.output.dense")
        .norm("layers.{}.ffn_norm", layer + "layernorm_after")
        .linear("layers.{}.ffn.up", layer + "intermediate.dense")
        .linear("layers.{}.ffn.down", layer + "output.dense")
        .norm("final_norm", "layernorm")
        .head("heads.pooler", "pooler.dense");
    NamePairs heads;
    heads.head("heads.classifier", "classifier");
    NameMap map = n.map();
    return map += heads.map();
  }

 private:
  static std::string prefix(const Checkpoint& checkpoint) {
    return checkpoint.tensors().find("embeddings.cls_token") ? "" : "vit.";
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
