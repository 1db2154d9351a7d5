// CLIP: a text tower and an image tower with one space of embeddings.
#pragma once

#include <ashlar/models/presets/vit.hpp>
#include <ashlar/nn/position/learned.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Radford et al. 2021. A token of the text sees those before it; what counts is the state
/// of the first end-of-text token, which has seen all.
struct ClipTextSpec {
  using Norm = LayerNorm;
  using Mixer = Attention<NoPosition>;
  using Ffn = Mlp<act::Chosen>;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
  using InputPosition = LearnedPosition;
};
/// A norm before the layers; the one after them is for the class token only.
struct ClipVisionSpec : VitSpec {
  using EmbeddingNorm = LayerNorm;
  using FinalNorm = NoNorm;
  using Heads = NoHeads;
};

struct Clip {
  using Text = Encoder<ClipTextSpec>;
  using Vision = VisionEncoder<ClipVisionSpec>;

  struct Config {
    Text::Config text{};
    Vision::Config vision{};
    LayerNorm::Config class_norm{};
    index_t projection = 0;        // width of the common space
    std::int32_t end_of_text = 2;  // 2: the largest id of a text, whatever it is
  };
  struct Weights {
    Text::Weights text;
    Vision::Weights vision;
    LayerNorm::Weights class_norm;
    Projection::Weights text_projection, image_projection;
    VectorView<const float> logit_scale;
  };
  static void visit(Weights& w, const Config& c, auto&& f) {
    Text::visit(w.text, c.text, prefixed("text.", f));
    Vision::visit(w.vision, c.vision, prefixed("vision.", f));
    LayerNorm::visit(w.class_norm, c.class_norm, c.vision.d_model, prefixed("class_norm.", f));
    const Projection::Config projection{c.projection, false};
    Projection::visit(w.text_projection, projection, c.text.d_model,
                      prefixed("text_projection.", f));
    Projection::visit(w.image_projection, projection, c.vision.d_model,
                      prefixed("image_projection.", f));
    f("logit_scale", w.logit_scale, {1});
  }

  /// Embeddings of texts, of length 1, from the states of Text::forward.
  /// Shapes   tokens [B, T], hidden [B T, D], y [B, projection]
  /// Throws   ValueError for a text without an end
  template <Backend B>
  static void embed_text(Context<B>& ctx, const Config& c, const Weights& w,
                         const TokenBatch& batch, MatrixView<const std::int32_t> tokens,
                         MatrixView<const float> hidden, MatrixView<float> y) {
    Scratch::Frame frame(ctx.scratch());
    const auto ends = frame.tensor<float, 2>({batch.batch(), c.text.d_model});
    for (index_t b = 0; b < batch.batch(); ++b) {
      const index_t m = b * batch.tokens() + end_of(c, b, tokens.at(b));
      for (index_t i = 0; i < c.text.d_model; ++i) ends(b, i) = hidden(m, i);
    }
    Projection::apply(ctx, {}, w.text_projection, MatrixView<const float>(ends), y);
    unit_length(ctx, y);
  }
  /// The class tokens' states after their norm.
  /// Shapes   hidden [B N, D] of Vision::forward, y [B, D]
  template <Backend B>
  static void pool_image(Context<B>& ctx, const Config& c, const Weights& w,
                         const TokenBatch& batch, MatrixView<const float> hidden,
                         MatrixView<float> y) {
    LayerNorm::apply(ctx, c.class_norm, w.class_norm, first_rows(batch, hidden), y);
  }
  /// Embeddings of images, of length 1, from what pool_image gives.
  /// Shapes   pooled [B, D], y [B, projection]
  template <Backend B>
  static void embed_image(Context<B>& ctx, const Weights& w, MatrixView<const float> pooled,
                          MatrixView<float> y) {
    Projection::apply(ctx, {}, w.image_projection, pooled, y);
    unit_length(ctx, y);
  }
  /// exp(logit_scale) image . text
  /// Shapes   images [I, projection], texts [T, projection], logits [I, T]
  template <Backend B>
  static void compare(Context<B>& ctx, const Weights& w, MatrixView<const float> images,
                      MatrixView<const float> texts, MatrixView<float> logits) {
    linear(ctx, images, WeightMatrix(texts), {}, logits);
    map(ctx, fn::Scale{std::exp(w.logit_scale(0))}, logits);
  }

 private:
  static index_t end_of(const Config& c, index_t b, VectorView<const std::int32_t> tokens) {
    index_t found = -1;
    for (index_t t = tokens.extent(0) - 1; t >= 0; --t) {
      const bool end =
          c.end_of_text == 2 ? found < 0 || tokens(t) >= tokens(found) : tokens(t) == c.end_of_text;
      if (end) found = t;
    }
    if (found < 0) fail<ValueError>("Clip: text ", b, " has no end-of-text token ", c.end_of_text);
    return found;
  }
};

struct ClipFamily {
  using Lm = Clip;
  static constexpr std::string_view name = "clip";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const ConfigReader text = part(j, "text_config"), vision = part(j, "vision_config");
    Lm::Config c;
    DecoderBlock<ClipTextSpec>::Config text_layer;
    fill_layer(text_layer, text, 512, 8, 2048);
    c.text.vocabulary = text.size("vocab_size", 49408);
    c.text.d_model = c.text.stack.d_model = text_layer.dims.d_model;
    c.text.context_length = c.text.position.positions = text.size("max_position_embeddings", 77);
    c.text.stack.final_norm = text_layer.norm;
    c.text.stack.layers.assign(
        static_cast<std::size_t>(text.size("num_hidden_layers", 12, 1, 10'000)), text_layer);
    c.end_of_text = static_cast<std::int32_t>(text.size("eos_token_id", 49407, 0));

    DecoderBlock<ClipVisionSpec>::Config vision_layer;
    fill_layer(vision_layer, vision, 768, 12, 3072);
    fill_vision(c.vision, vision, vision_layer, "image_size",
                vision.size("num_hidden_layers", 12, 1, 10'000), 32);
    c.vision.patches.bias = false;
    c.vision.embedding_norm = c.class_norm = vision_layer.norm;
    c.projection = j.size("projection_dim", 512);
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config& c) {
    NamePairs n;
    n.one("text.embedding", "text_model.embeddings.token_embedding.weight")
        .one("text.position.table", "text_model.embeddings.position_embedding.weight")
        .norm("text.final_norm", "text_model.final_layer_norm")
        .one("vision.class_token", "vision_model.embeddings.class_embedding")
        .one("vision.patches.weight", "vision_model.embeddings.patch_embedding.weight",
             {.shape = patch_shape(c.vision)})
        .one("vision.position", "vision_model.embeddings.position_embedding.weight")
        .norm("vision.embedding_norm", "vision_model.pre_layrnorm")
        .norm("class_norm", "vision_model.post_layernorm")
        .one("text_projection.weight", "text_projection.weight")
        .one("image_projection.weight", "visual_projection.weight")
        .one("logit_scale", "logit_scale", {.shape = {1}})
        .ignore("embeddings.position_ids");
    for (const std::string tower : {"text", "vision"}) {
      const std::string ours = tower + ".layers.{}.", layer = tower + "_model.encoder.layers.{}.";
      n.norm(ours + "mixer_norm", layer + "layer_norm1")
          .linear(ours + "mixer.q", layer + "self_attn.q_proj")
          .linear(ours + "mixer.k", layer + "self_attn.k_proj")
          .linear(ours + "mixer.v", layer + "self_attn.v_proj")
          .linear(ours + "mixer.o", layer + "self_attn.out_proj")
          .norm(ours + "ffn_norm", layer + "layer_norm2")
          .linear(ours + "ffn.up", layer + "mlp.fc1")
          .linear(ours + "ffn.down", layer + "mlp.fc2");
    }
    return n.map();
  }

 private:
  static ConfigReader part(const ConfigReader& j, std::string_view key) {
    auto found = j.object(key);
    if (!found) fail<FileError>(j.path(), ": has no key \"", key, "\"");
    return *found;
  }
  template <class Layer>
  static void fill_layer(Layer& layer, const ConfigReader& j, index_t d_model, index_t heads,
                         index_t d_ff) {
    Dims& d = layer.dims;
    d.d_model = j.size("hidden_size", d_model);
    d.n_heads = d.n_kv_heads = j.size("num_attention_heads", heads);
    if (d.d_model % d.n_heads != 0)
      fail<ValueError>(j.what("hidden_size"), " is ", d.d_model,
                       ", expected a multiple of num_attention_heads ", d.n_heads);
    d.head_dim = d.d_model / d.n_heads;
    d.d_ff = j.size("intermediate_size", d_ff);
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-5));
    layer.mixer.bias = {true, true, true, true};
    layer.ffn.activation = read_activation(j, "hidden_act", "quick_gelu");
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
