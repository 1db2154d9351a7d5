// LayerScale: x += scale * branch with a learned scale a channel.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Touvron et al. 2021, CaiT.
/// Shapes   branch, x [M, D], scale [D]
struct LayerScale {
  struct Config {};
  struct Weights {
    VectorView<const float> scale;
  };
  static void visit(Weights& w, const Config&, index_t width, auto&& f) {
    f("scale", w.scale, {width});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config&, const Weights& w, MatrixView<const T> branch,
                    MatrixView<T> x) {
    residual_add(ctx, branch, w.scale, x);
  }
};
static_assert(ResidualPolicy<LayerScale>);

}  // namespace ashlar::inline ASHLAR_ABI
