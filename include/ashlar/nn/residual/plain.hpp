// PlainResidual: x += branch.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: He et al. 2016.
/// Shapes   branch, x [M, D]
struct PlainResidual {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config&, const Weights&, MatrixView<const T> branch,
                    MatrixView<T> x) {
    residual_add(ctx, branch, {}, x);
  }
};
static_assert(ResidualPolicy<PlainResidual>);

}  // namespace ashlar::inline ASHLAR_ABI
