// VisionEncoder: patches of an image, a class token and registers, and a stack of blocks.
#pragma once

#include <ashlar/models/encoder.hpp>
#include <ashlar/nn/embedding/patches.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Beside the block's parts the spec names, where it has them, an EmbeddingNorm, a FinalNorm (else
/// the block's Norm) and Heads. Source: Dosovitskiy et al. 2020, ViT; Darcet et al. 2023 for
/// registers.
///
///   x = embedding_norm([class + position_0; registers; patch_p + position_1+p])
///   hidden = final_norm(layers(x))
template <BlockSpec Spec>
struct VisionEncoder {
  using Stack = BlockStack<Spec>;
  using EmbeddingNorm = EmbeddingNormOf<Spec>;
  using Heads = HeadsOf<Spec>;

  struct Config {
    index_t d_model = 0;
    index_t height = 0, width = 0;  // of an image
    bool class_token = true;
    index_t registers = 0;  // learned tokens after the class token, without a position
    PatchEmbedding::Config patches{};
    typename EmbeddingNorm::Config embedding_norm{};
    typename Stack::Config stack{};
    typename Heads::Config heads{};

    index_t first_patch() const { return (class_token ? 1 : 0) + registers; }
    index_t patch_count() const { return height / patches.patch * (width / patches.patch); }
    /// Of the patches, and of the class token.
    index_t position_rows() const { return patch_count() + (class_token ? 1 : 0); }
    /// Rows of an image's states.
    index_t tokens() const { return first_patch() + patch_count(); }
  };
  struct Weights {
    PatchEmbedding::Weights patches;
    VectorView<const float> class_token;
    WeightMatrix registers, position;
    typename EmbeddingNorm::Weights embedding_norm;
    typename Stack::Weights stack;
    typename Heads::Weights heads;
  };
  static void visit(Weights& w, const Config& c, auto&& f) {
    PatchEmbedding::visit(w.patches, c.patches, c.d_model, prefixed("patches.", f));
    if (c.class_token) f("class_token", w.class_token, {c.d_model});
    if (c.registers) f("registers", w.registers, {c.registers, c.d_model});
    f("position", w.position, {c.position_rows(), c.d_model});
    EmbeddingNorm::visit(w.embedding_norm, c.embedding_norm, c.d_model,
                         prefixed("embedding_norm.", f));
    Stack::visit(w.stack, c.stack, f);
    Heads::visit(w.heads, c.heads, 0, c.d_model, prefixed("heads.", f));
  }

  /// `batch` becomes B sequences of config.tokens() rows.
  ///
  /// Shapes   image [B, C, H, W], hidden [B N, D] with N = config.tokens(): [class; registers;
  ///          patches, row by row]
  /// Throws   ShapeError
  template <Backend B, Element T, class Observer = NoStackObserver>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, TokenBatch& batch,
                      TensorView<const T, 4> image, MatrixView<T> hidden,
                      Observer&& observer = {}) {
    expect_shape("VisionEncoder", "image", image,
                 {image.extent(0), c.patches.channels, c.height, c.width});
    batch.reset(image.extent(0), c.tokens());
    expect_shape("VisionEncoder", "hidden", hidden, {batch.rows(), c.d_model});
    Scratch::Frame frame(ctx.scratch());
    const auto x = frame.tensor<T, 2>({batch.rows(), c.d_model});
    embed(ctx, c, w, image, x);
    if constexpr (!std::is_same_v<EmbeddingNorm, NoNorm>)
      EmbeddingNorm::apply(ctx, c.embedding_norm, w.embedding_norm, MatrixView<const T>(x), x);
    Stack::forward(ctx, c.stack, w.stack, batch, x, hidden, observer);
  }

 private:
  template <Backend B, Element T>
  static void embed(Context<B>& ctx, const Config& c, const Weights& w,
                    TensorView<const T, 4> image, MatrixView<T> x) {
    const index_t N = c.tokens(), P = c.patch_count(), D = c.d_model;
    Scratch::Frame frame(ctx.scratch());
    const auto patches = frame.tensor<T, 2>({image.extent(0) * P, D});
    const auto positions = frame.tensor<T, 2>({w.position.rows(), D});
    const auto registers = frame.tensor<T, 2>({c.registers, D});
    PatchEmbedding::apply(ctx, c.patches, w.patches, image, patches);
    all_rows(ctx, w.position, positions);
    if (c.registers) all_rows(ctx, w.registers, registers);
    using A = accumulator_t<T>;
    const auto sum = [](auto u, auto v) {
      return static_cast<T>(static_cast<A>(u) + static_cast<A>(v));
    };
    const index_t after = c.first_patch(), position = w.position.rows() - P;  // of patch 0
    for (index_t b = 0; b < image.extent(0); ++b) {
      const auto rows = x.slice(0, b * N, (b + 1) * N);
      for (index_t i = 0; i < D; ++i) {
        if (c.class_token) rows(0, i) = sum(w.class_token(i), positions(0, i));
        for (index_t r = 0; r < c.registers; ++r)
          rows(after - c.registers + r, i) = registers(r, i);
      }
      for (index_t p = 0; p < P; ++p)
        for (index_t i = 0; i < D; ++i)
          rows(after + p, i) = sum(patches(b * P + p, i), positions(position + p, i));
    }
  }
  template <Backend B, Element T>
  static void all_rows(Context<B>& ctx, const WeightMatrix& table, MatrixView<T> y) {
    Scratch::Frame frame(ctx.scratch());
    std::int32_t* ids = frame.get<std::int32_t>(table.rows());
    for (index_t i = 0; i < table.rows(); ++i) ids[i] = static_cast<std::int32_t>(i);
    embedding(ctx, VectorView<const std::int32_t>(ids, {table.rows()}), table, y);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
