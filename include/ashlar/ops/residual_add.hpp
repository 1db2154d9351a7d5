// residual_add: x += scale * branch.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

namespace kernels {

template <class B>
struct ResidualAddKernel : ResidualAddKernel<typename B::fallback> {};
template <>
struct ResidualAddKernel<backend::None> {};

/// fma(scale, branch, x), or x + branch without a scale.
template <>
struct ResidualAddKernel<backend::ScalarCpu> {
  template <Element T>
  static void run(HostContext& ctx, MatrixView<const T> branch, VectorView<const float> scale,
                  MatrixView<T> x) {
    using A = accumulator_t<T>;
    parallel_for(ctx.executor(), x.extent(0), [&](index_t m, int) {
      for (index_t i = 0; i < x.extent(1); ++i) {
        const A y = static_cast<A>(branch(m, i)), s = static_cast<A>(x(m, i));
        x(m, i) = static_cast<T>(scale.empty() ? s + y : std::fma(static_cast<A>(scale(i)), y, s));
      }
    });
  }
};

}  // namespace kernels

/// Adds a branch to the residual stream, in place: x += scale ⊙ branch. The scale is LayerScale's.
/// Source: Touvron et al. 2021, CaiT.
///
/// Shapes   branch, x [M, D], scale [D] or empty for 1
/// Dtypes   branch and x alike
/// Throws   ShapeError
template <Backend B, Element T>
void residual_add(Context<B>& ctx, std::type_identity_t<MatrixView<const T>> branch,
                  VectorView<const float> scale, MatrixView<T> x) {
  expect_shape("residual_add", "branch", branch, {x.extent(0), x.extent(1)});
  if (scale.data()) expect_shape("residual_add", "scale", scale, {x.extent(1)});
  expect_no_overlap("residual_add", "x", x, "branch", branch);
  kernels::ResidualAddKernel<B>::run(ctx, branch, scale, x);
}

}  // namespace ashlar::inline ASHLAR_ABI
