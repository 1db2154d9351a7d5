// Norms of queries and keys (QK-norm): of each head with shared or own weights, or of all at once.
#pragma once

#include <ashlar/nn/norm/none.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Changes queries or keys [M, heads, H] in place, before positions.
template <class P>
concept QkNormPolicy = requires(detail::ProbeContext& ctx, const typename P::Config& config,
                                typename P::Weights& weights, index_t n, TensorView<float, 3> x) {
  P::visit(weights, config, n, n, detail::AnyVisitor{});
  P::apply(ctx, config, weights, x);
};

namespace detail {
template <class T>
MatrixView<T> rows_of_heads(TensorView<T, 3> x, index_t heads_a_row) {
  if (!x.contiguous()) fail<ShapeError>("QK-norm: the heads of x do not lie side by side");
  return {x.data(), {x.extent(0) * x.extent(1) / heads_a_row, x.extent(2) * heads_a_row}};
}
}  // namespace detail

/// Norm of every head [H] by itself, one set of weights for all heads.
/// Source: Henry et al. 2020; Dehghani et al. 2023, ViT-22B. Used by Qwen 3, Gemma 3.
/// Shapes   x [M, heads, H], weights as Norm's of width H
template <NormPolicy Norm>
struct PerHeadNorm {
  using Config = typename Norm::Config;
  using Weights = typename Norm::Weights;
  static void visit(Weights& w, const Config& c, index_t /*heads*/, index_t head_dim, auto&& f) {
    Norm::visit(w, c, head_dim, f);
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, TensorView<T, 3> x) {
    const auto rows = detail::rows_of_heads(x, 1);
    Norm::apply(ctx, c, w, MatrixView<const T>(rows), rows);
  }
};

/// The same with weights of its own for every head. Source: Cohere's Command R+, Chameleon (2024).
/// Shapes   x [M, heads, H], weights as Norm's of width heads * H, head by head
template <NormPolicy Norm>
struct PerHeadOwnNorm {
  using Config = typename Norm::Config;
  using Weights = typename Norm::Weights;
  static void visit(Weights& w, const Config& c, index_t heads, index_t head_dim, auto&& f) {
    Norm::visit(w, c, heads * head_dim, f);
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, TensorView<T, 3> x) {
    const index_t H = x.extent(2);
    for (index_t h = 0; h < x.extent(1); ++h) {
      const MatrixView<T> rows(x.data() + h * x.stride(1), {x.extent(0), H}, {x.stride(0), 1});
      Norm::apply(ctx, c, Norm::part(w, h * H, H), MatrixView<const T>(rows), rows);
    }
  }
};

/// One norm of all heads of a token together. Source: OLMo 2 (2024).
/// Shapes   x [M, heads, H], weights as Norm's of width heads * H
template <NormPolicy Norm>
struct FullWidthNorm {
  using Config = typename Norm::Config;
  using Weights = typename Norm::Weights;
  static void visit(Weights& w, const Config& c, index_t heads, index_t head_dim, auto&& f) {
    Norm::visit(w, c, heads * head_dim, f);
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, TensorView<T, 3> x) {
    const auto rows = detail::rows_of_heads(x, x.extent(1));
    Norm::apply(ctx, c, w, MatrixView<const T>(rows), rows);
  }
};

/// QkNorm where the config says so. Source: Cohere's Command R and R+, StableLM 2.
template <QkNormPolicy QkNorm>
struct OptionalQkNorm {
  struct Config : QkNorm::Config {
    bool enabled = false;
  };
  using Weights = typename QkNorm::Weights;
  static void visit(Weights& w, const Config& c, index_t heads, index_t head_dim, auto&& f) {
    if (c.enabled) QkNorm::visit(w, c, heads, head_dim, f);
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, TensorView<T, 3> x) {
    if (c.enabled) QkNorm::apply(ctx, c, w, x);
  }
};

/// No QK-norm.
struct NoQkNorm {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, TensorView<T, 3>) {}
};
static_assert(QkNormPolicy<NoQkNorm>);

}  // namespace ashlar::inline ASHLAR_ABI
