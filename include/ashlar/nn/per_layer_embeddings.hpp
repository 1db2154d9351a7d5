// Per-layer embeddings: a small vector for every token and layer, made once and mixed into the
// stream after each layer.
#pragma once

#include <ashlar/nn/norm/rms_norm.hpp>
#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/activation.hpp>
#include <ashlar/ops/embedding.hpp>
#include <ashlar/ops/linear.hpp>
#include <ashlar/ops/map.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// The vectors of all layers, a side input of the model. Source: Gemma 3n (2025), Gemma 4.
///
///   side = (norm(D^-0.5 x P^T) + sqrt(W) E[token]) / sqrt(2), the norm over each layer's W
///   elements
///
/// Shapes   tokens [B, T], x [B rows, D], side [B rows, L W], table E [V, L W], projection P [L W,
///          D], norm [W]. Rows in front of a sequence's tokens (registers) have no row of the table
struct PerLayerEmbeddings {
  using Norm = RmsNormRoundedOnce;
  struct Config {
    index_t vocabulary = 0, layers = 0;
    index_t width = 0;  // W; 0: the model has none
    Norm::Config norm{};
  };
  struct Weights {
    WeightMatrix table, projection;
    Norm::Weights norm;
  };
  static void visit(Weights& w, const Config& c, index_t d_model, auto&& f) {
    if (c.width == 0) return;
    f("table", w.table, {c.vocabulary, c.layers * c.width});
    f("projection", w.projection, {c.layers * c.width, d_model});
    Norm::visit(w.norm, c.norm, c.width, prefixed("norm.", f));
  }
  static constexpr index_t width(const Config& c) { return c.width; }

  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w,
                    MatrixView<const std::int32_t> tokens, index_t registers, MatrixView<T> x,
                    MatrixView<T> side) {
    const auto root = [](index_t n) {
      return static_cast<float>(std::sqrt(static_cast<double>(n)));
    };
    linear(ctx, MatrixView<const T>(x), w.projection, {}, side);
    map(ctx, fn::Scale{1.f / root(x.extent(1))}, side);
    const MatrixView<T> parts(side.data(), {side.extent(0) * c.layers, c.width});
    Norm::apply(ctx, c.norm, w.norm, MatrixView<const T>(parts), parts);

    Scratch::Frame frame(ctx.scratch());
    const index_t count = tokens.extent(1), rows = registers + count;
    const auto rows_of_table = frame.tensor<T, 2>({count, side.extent(1)});
    for (index_t b = 0; b < tokens.extent(0); ++b) {
      embedding(ctx, VectorView<const std::int32_t>(tokens.at(b)), w.table, rows_of_table);
      map(ctx, fn::Scale{root(c.width)}, rows_of_table);
      residual_add(ctx, MatrixView<const T>(rows_of_table), {},
                   side.slice(0, b * rows + registers, (b + 1) * rows));
    }
    map(ctx, fn::Scale{1.f / root(2)}, side);
  }
};

/// The end of a layer that takes its vector; then the whole output times one learned number.
///
///   x = scalar (x + norm((f(x G^T) * side) P^T))
///
/// Shapes   x [M, D], side [M, W], gate G [W, D], projection P [D, W], norm [D], scalar [1]
struct PerLayerInput {
  using Norm = RmsNormRoundedOnce;
  struct Config {
    index_t width = 0;  // W; 0: the scalar alone
    ActivationKind activation{};
    Norm::Config norm{};
  };
  struct Weights {
    WeightMatrix gate, projection;
    Norm::Weights norm;
    VectorView<const float> scalar;
  };
  static void visit(Weights& w, const Config& c, const Dims& d, auto&& f) {
    if (c.width > 0) {
      f("gate", w.gate, {c.width, d.d_model});
      f("projection", w.projection, {d.d_model, c.width});
      Norm::visit(w.norm, c.norm, d.d_model, prefixed("norm.", f));
    }
    f("scalar", w.scalar, {1});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                    MatrixView<const T> side, MatrixView<T> x) {
    if (c.width > 0) {
      expect_shape("PerLayerInput", "side", side, {x.extent(0), c.width});
      Scratch::Frame frame(ctx.scratch());
      const auto gate = frame.tensor<T, 2>({x.extent(0), c.width});
      const auto y = frame.tensor<T, 2>({x.extent(0), d.d_model});
      linear(ctx, MatrixView<const T>(x), w.gate, {}, gate);
      glu(ctx, c.activation, MatrixView<const T>(gate), side, gate);
      linear(ctx, MatrixView<const T>(gate), w.projection, {}, y);
      Norm::apply(ctx, c.norm, w.norm, MatrixView<const T>(y), y);
      residual_add(ctx, MatrixView<const T>(y), {}, x);
    }
    map(ctx, fn::Scale{w.scalar(0)}, x);
  }
};
static_assert(EpiloguePolicy<PerLayerInput>);

}  // namespace ashlar::inline ASHLAR_ABI
