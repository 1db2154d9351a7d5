// softmax of rows.
#pragma once

#include <algorithm>
#include <ashlar/backend/scalar.hpp>
#include <ashlar/core/fold.hpp>
#include <ashlar/core/math.hpp>
#include <limits>

namespace ashlar::inline ASHLAR_ABI {

namespace kernels {

template <class B>
struct SoftmaxKernel : SoftmaxKernel<typename B::fallback> {};
template <>
struct SoftmaxKernel<backend::None> {};

template <>
struct SoftmaxKernel<backend::ScalarCpu> {
  template <Element T>
  static void run(HostContext& ctx, MatrixView<const T> x, MatrixView<T> y, VectorView<float> lse) {
    using A = accumulator_t<T>;
    constexpr A infinity = std::numeric_limits<A>::infinity();
    const index_t D = x.extent(1);
    Scratch::Frame frame(ctx.scratch());
    A* rows = frame.get<A>(D * ctx.workers());
    parallel_for(ctx.executor(), x.extent(0), [&](index_t m, int worker) {
      A* p = rows + worker * D;
      A maximum = -infinity;
      for (index_t i = 0; i < D; ++i) maximum = (std::max)(maximum, static_cast<A>(x(m, i)));
      const A base = (std::max)(maximum, (std::numeric_limits<A>::lowest)());
      for (index_t i = 0; i < D; ++i) p[i] = math::exp(static_cast<A>(x(m, i)) - base);
      const A sum = chained_sum<A>(D, [&](index_t i) { return p[i]; });
      const A scale = sum != 0 ? A(1) / sum : A(0);
      for (index_t i = 0; i < D; ++i) y(m, i) = static_cast<T>(p[i] * scale);
      if (!lse.empty())
        lse(m) =
            static_cast<float>(static_cast<double>(maximum) + std::log(static_cast<double>(sum)));
    });
  }
};

}  // namespace kernels

/// y = exp(x - max) / sum, by rows; -inf entries give exactly 0, a row of nothing else gives 0.
///
/// Shapes   x, y [M, D], lse [M] or empty: log of the sum of exponentials, natural, -inf for an
/// empty row Dtypes   x and y alike, computed in f32 (f64 for double) Throws   ShapeError Alias y
/// may be x
template <Backend B, Element T>
void softmax(Context<B>& ctx, MatrixView<const T> x, std::type_identity_t<MatrixView<T>> y,
             VectorView<float> lse = {}) {
  expect_shape("softmax", "y", y, {x.extent(0), x.extent(1)});
  if (lse.data()) expect_shape("softmax", "lse", lse, {x.extent(0)});
  expect_no_overlap("softmax", "y", y, "x", x, true);
  kernels::SoftmaxKernel<B>::run(ctx, x, y, lse);
}

}  // namespace ashlar::inline ASHLAR_ABI
