// PerHeadNorm: a norm over each head of the queries and keys (QK-norm).
#pragma once

#include <ashlar/nn/norm/none.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Applies Norm to every head [H] by itself, one set of weights for all heads, before positions.
/// Source: Henry et al. 2020; Dehghani et al. 2023, ViT-22B. Used by Qwen 3, Gemma 3.
/// Shapes   x [M, heads, H]
template <NormPolicy Norm>
struct PerHeadNorm {
  using Config = typename Norm::Config;
  using Weights = typename Norm::Weights;
  static void visit(Weights& w, const Config& c, index_t head_dim, auto&& f) {
    Norm::visit(w, c, head_dim, f);
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, TensorView<T, 3> x) {
    if (!x.contiguous()) fail<ShapeError>("PerHeadNorm: the heads of x do not lie side by side");
    const MatrixView<T> heads(x.data(), {x.extent(0) * x.extent(1), x.extent(2)});
    Norm::apply(ctx, c, w, MatrixView<const T>(heads), heads);
  }
};

/// No QK-norm.
struct NoQkNorm {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, TensorView<T, 3>) {}
};

}  // namespace ashlar::inline ASHLAR_ABI
