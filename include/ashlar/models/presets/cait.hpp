// CaiT: talking heads over patches, then class-attention.
#pragma once

#include <ashlar/models/presets/vit.hpp>
#include <ashlar/nn/class_block.hpp>
#include <ashlar/nn/mixer/talking_heads.hpp>
#include <ashlar/nn/residual/layer_scale.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Touvron et al. 2021.
struct CaitSpec : VitSpec {
  using Mixer = TalkingHeads;
  using Ffn = Mlp<act::Gelu>;
  using Residual = LayerScale;
  using FinalNorm = NoNorm;
  using Heads = NoHeads;
};

/// Layers of patches, layers of the class token, one norm of both, a classifier of the class token.
struct Cait {
  using Vision = VisionEncoder<CaitSpec>;
  using ClassLayer = ClassBlock<CaitSpec>;

  struct Config {
    Vision::Config vision{};
    std::vector<ClassLayer::Config> class_layers;
    LayerNorm::Config final_norm{};
    Projection::Config classifier{};

    index_t tokens() const { return 1 + vision.tokens(); }
  };
  struct Weights {
    Vision::Weights vision;
    VectorView<const float> class_token;
    std::vector<ClassLayer::Weights> class_layers;
    LayerNorm::Weights final_norm;
    Projection::Weights classifier;
  };
  static void visit(Weights& w, const Config& c, auto&& f) {
    const index_t D = c.vision.d_model;
    Vision::visit(w.vision, c.vision, f);
    f("class_token", w.class_token, {D});
    w.class_layers.resize(c.class_layers.size());
    for (std::size_t i = 0; i < c.class_layers.size(); ++i) {
      const std::string layer = "class_layers." + std::to_string(i) + ".";
      ClassLayer::visit(w.class_layers[i], c.class_layers[i], prefixed(layer, f));
    }
    LayerNorm::visit(w.final_norm, c.final_norm, D, prefixed("final_norm.", f));
    Projection::visit(w.classifier, c.classifier, D, prefixed("classifier.", f));
  }

  /// `batch` becomes B sequences of config.tokens() rows. The first observer sees the patches that
  /// enter each layer, the other the class tokens [B, D] that leave each class layer.
  /// Shapes   image [B, C, H, W], hidden [B (1 + P), D]: [class; patches], normed
  template <Backend B, class Observer = NoStackObserver, class ClassObserver = NoStackObserver>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, TokenBatch& batch,
                      TensorView<const float, 4> image, MatrixView<float> hidden,
                      Observer&& observer = {}, ClassObserver&& class_observer = {}) {
    const index_t sequences = image.extent(0), D = c.vision.d_model, P = c.vision.tokens();
    Scratch::Frame frame(ctx.scratch());
    const auto patches = frame.tensor<float, 2>({sequences * P, D});
    const auto x = frame.tensor<float, 2>({sequences, D});
    Vision::forward(ctx, c.vision, w.vision, batch, image, patches, observer);
    for (index_t b = 0; b < sequences; ++b)
      for (index_t i = 0; i < D; ++i) x(b, i) = w.class_token(i);
    const TokenBatch classes(sequences, 1);
    batch.reset(sequences, c.tokens());
    expect_shape("Cait", "hidden", hidden, {batch.rows(), D});
    for (std::size_t i = 0; i < c.class_layers.size(); ++i) {
      ClassLayer::forward(ctx, c.class_layers[i], w.class_layers[i], classes, batch,
                          MatrixView<const float>(patches), x);
      class_observer(static_cast<index_t>(i), MatrixView<const float>(x));
    }
    for (index_t b = 0; b < sequences; ++b) {
      const auto rows = hidden.slice(0, b * (P + 1), (b + 1) * (P + 1));
      LayerNorm::apply(ctx, c.final_norm, w.final_norm,
                       MatrixView<const float>(x.slice(0, b, b + 1)), rows.slice(0, 0, 1));
      LayerNorm::apply(ctx, c.final_norm, w.final_norm,
                       MatrixView<const float>(patches.slice(0, b * P, (b + 1) * P)),
                       rows.slice(0, 1, P + 1));
    }
  }
};

/// config.json holds the arguments of timm's Cait.
struct CaitFamily {
  using Lm = Cait;
  static constexpr std::string_view name = "cait";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    if (const auto pool = j.string("global_pool", "token"); pool != "token")
      j.refuse("global_pool", pool, "token");
    DecoderBlock<CaitSpec>::Config layer;
    const index_t D = j.size("embed_dim", 768);
    layer.dims = read_dims(j, timm_keys, ffn_width_of(j, "mlp_ratio", 4, D));
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-6));
    const bool bias = layer.mixer.qkv_bias = j.boolean("qkv_bias", true);
    Lm::Config c;
    fill_vision(c.vision, j, layer, "img_size", j.size("depth", 12, 1, 10'000));
    c.vision.class_token = false;
    c.final_norm = layer.norm;

    Cait::ClassLayer::Config last;
    last.dims = layer.dims;
    last.dims.d_ff = ffn_width_of(j, "mlp_ratio_token_only", 4, D);
    last.norm = layer.norm;
    last.mixer.bias = {bias, bias, bias, true};
    c.class_layers.assign(static_cast<std::size_t>(j.size("depth_token_only", 2, 0, 10'000)), last);
    c.classifier.rows = rows_of(checkpoint, "head.weight");
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config& c) {
    const index_t D = c.vision.d_model, N = c.vision.stack.layers[0].dims.n_heads;
    NamePairs n;
    n.one("class_token", "cls_token", {.shape = {D}})
        .one("position", "pos_embed", {.shape = position_shape(c.vision)})
        .one("patches.weight", "patch_embed.proj.weight", {.shape = patch_shape(c.vision)})
        .one("patches.bias", "patch_embed.proj.bias")
        .norm("final_norm", "norm")
        .head("classifier", "head");
    const auto layer = [&](const std::string& ours, const std::string& block) {
      n.norm(ours + "mixer_norm", block + "norm1")
          .one(ours + "mixer_residual.scale", block + "gamma_1")
          .linear(ours + "mixer.o", block + "attn.proj")
          .norm(ours + "ffn_norm", block + "norm2")
          .one(ours + "ffn_residual.scale", block + "gamma_2")
          .linear(ours + "ffn.up", block + "mlp.fc1")
          .linear(ours + "ffn.down", block + "mlp.fc2");
    };
    layer("layers.{}.", "blocks.{}.");
    layer("class_layers.{}.", "blocks_token_only.{}.");
    const char* const names[] = {"q", "k", "v"};
    for (index_t i = 0; i < 3; ++i) {
      const std::string mixer = std::string("mixer.") + names[i];
      n.linear("layers.{}." + mixer, "blocks.{}.attn.qkv",
               {.first_row = i * D, .total_rows = 3 * D})
          .linear("class_layers.{}." + mixer, std::string("blocks_token_only.{}.attn.") + names[i]);
    }
    return n.one("layers.{}.mixer.scores", "blocks.{}.attn.proj_l.weight", {.shape = {N, N}})
        .one("layers.{}.mixer.scores_bias", "blocks.{}.attn.proj_l.bias")
        .one("layers.{}.mixer.weights", "blocks.{}.attn.proj_w.weight", {.shape = {N, N}})
        .one("layers.{}.mixer.weights_bias", "blocks.{}.attn.proj_w.bias")
        .map();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
