// DINOv2, with and without registers.
#pragma once

#include <ashlar/models/presets/vit.hpp>
#include <ashlar/nn/ffn/glu.hpp>
#include <ashlar/nn/residual/layer_scale.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Oquab et al. 2023; Darcet et al. 2023 for registers. What it gives for an image is the
/// class token's state.
template <FfnPolicy FfnKind>
struct Dinov2Spec : VitSpec {
  using Ffn = FfnKind;
  using Residual = LayerScale;
  using Heads = NoHeads;
};

/// use_swiglu_ffn says which of the two kinds a checkpoint is: the giant size has a SwiGLU.
template <bool Gated, bool Registers>
struct Dinov2Kind {
  using Ffn = std::conditional_t<Gated, SwiGlu, Mlp<act::Chosen>>;
  using Spec = Dinov2Spec<Ffn>;
  using Lm = VisionEncoder<Spec>;
  static constexpr std::string_view name = Registers ? "dinov2_with_registers" : "dinov2";

  static bool accepts(const Checkpoint& checkpoint) {
    return checkpoint.json().boolean("use_swiglu_ffn", false) == Gated;
  }

  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    typename DecoderBlock<Spec>::Config layer;
    const index_t width = ffn_width_of(j, "mlp_ratio", 4, j.size("hidden_size", 768));
    // Two thirds of it, up to a multiple of 8.
    layer.dims = read_dims(j, {.n_kv_heads = "", .head_dim = "", .d_ff = "", .absent = {768, 12}},
                           Gated ? round_up(width * 2 / 3, 8) : width);
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-6));
    const bool bias = j.boolean("qkv_bias", true);
    layer.mixer.bias = {bias, bias, bias, true};
    layer.ffn.bias = true;
    if constexpr (!Gated) layer.ffn.activation = read_activation(j, "hidden_act", "gelu");
    typename Lm::Config c;
    fill_vision(c, j, layer, "image_size", j.size("num_hidden_layers", 12, 1, 10'000),
                Registers ? 16 : 14);
    if (Registers) c.registers = j.size("num_register_tokens", 4, 0, 10'000);
    return c;
  }
  static NameMap names(const Checkpoint&, const typename Lm::Config& c) {
    const std::string layer = "encoder.layer.{}.";
    const index_t F = c.stack.layers[0].dims.d_ff;
    NamePairs n;
    n.one("class_token", "embeddings.cls_token", {.shape = {c.d_model}})
        .one("registers", "embeddings.register_tokens", {.shape = {c.registers, c.d_model}})
        .one("position", "embeddings.position_embeddings", {.shape = position_shape(c)})
        .one("patches.weight", "embeddings.patch_embeddings.projection.weight",
             {.shape = patch_shape(c)})
        .one("patches.bias", "embeddings.patch_embeddings.projection.bias")
        .norm("layers.{}.mixer_norm", layer + "norm1")
        .linear("layers.{}.mixer.q", layer + "attention.attention.query")
        .linear("layers.{}.mixer.k", layer + "attention.attention.key")
        .linear("layers.{}.mixer.v", layer + "attention.attention.value")
        .linear("layers.{}.mixer.o", layer + "attention.output.dense")
        .one("layers.{}.mixer_residual.scale", layer + "layer_scale1.lambda1")
        .norm("layers.{}.ffn_norm", layer + "norm2")
        .one("layers.{}.ffn_residual.scale", layer + "layer_scale2.lambda1")
        .norm("final_norm", "layernorm")
        .ignore("embeddings.mask_token");
    if (c.registers == 0) n.ignore("embeddings.register_tokens");  // [1, 0, D]
    if constexpr (Gated)
      n.linear("layers.{}.ffn.gate", layer + "mlp.weights_in", {.total_rows = 2 * F})
          .linear("layers.{}.ffn.up", layer + "mlp.weights_in",
                  {.first_row = F, .total_rows = 2 * F})
          .linear("layers.{}.ffn.down", layer + "mlp.weights_out");
    else
      n.linear("layers.{}.ffn.up", layer + "mlp.fc1")
          .linear("layers.{}.ffn.down", layer + "mlp.fc2");
    return n.map();
  }
};

struct Dinov2Family : Dinov2Kind<false, false> {};
struct Dinov2GiantFamily : Dinov2Kind<true, false> {};
struct Dinov2RegistersFamily : Dinov2Kind<false, true> {};
struct Dinov2RegistersGiantFamily : Dinov2Kind<true, true> {};

}  // namespace ashlar::inline ASHLAR_ABI
