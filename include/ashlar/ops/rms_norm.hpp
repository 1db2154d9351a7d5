// rms_norm: y = x / sqrt(mean(x^2) + eps) * gain.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <ashlar/core/fold.hpp>
#include <ashlar/ops/norm_gain.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace kernels {

template <class B>
struct RmsNormKernel : RmsNormKernel<typename B::fallback> {};
template <>
struct RmsNormKernel<backend::None> {};

template <>
struct RmsNormKernel<backend::ScalarCpu> {
  template <class Gain, Element T>
  static void run(HostContext& ctx, Gain, MatrixView<const T> x, VectorView<const float> gain,
                  MatrixView<T> y, float eps) {
    using A = accumulator_t<T>;
    const index_t D = x.extent(1);
    parallel_for(ctx.executor(), x.extent(0), [&](index_t m, int) {
      const A squares =
          chained_square_sum<A>(D, [&](index_t i) { return static_cast<A>(x(m, i)); });
      const A scale = A(1) / std::sqrt(squares / static_cast<A>(D) + static_cast<A>(eps));
      for (index_t i = 0; i < D; ++i) {
        const A unit = static_cast<A>(x(m, i)) * scale;
        y(m, i) = static_cast<T>(
            gain.empty() ? unit : Gain::template apply<T>(unit, static_cast<A>(gain(i))));
      }
    });
  }
};

}  // namespace kernels

/// Root mean square normalisation of rows: y = x / sqrt(mean(x^2) + eps) * gain.
/// Gain is a rule of ops/norm_gain.hpp. Source: Zhang and Sennrich 2019.
///
/// Shapes   x, y [M, D], gain [D] or empty for none
/// Dtypes   x and y alike, sums in f32 (f64 for double); squares overflow where |x| > 1e19
/// Cost     one pass for the sum, one for the result
/// Throws   ShapeError, also for D = 0; ValueError for eps < 0
/// Alias    y may be x
template <class Gain = gain::AfterRounding, Backend B, Element T>
void rms_norm(Context<B>& ctx, MatrixView<const T> x, VectorView<const float> gain,
              std::type_identity_t<MatrixView<T>> y, float eps) {
  if (x.extent(1) < 1) fail<ShapeError>("rms_norm: x has rows of ", x.extent(1), " elements");
  if (!(eps >= 0.f)) fail<ValueError>("rms_norm: eps is ", eps, ", expected at least 0");
  expect_shape("rms_norm", "y", y, {x.extent(0), x.extent(1)});
  if (gain.data()) expect_shape("rms_norm", "gain", gain, {x.extent(1)});
  expect_no_overlap("rms_norm", "y", y, "x", x, true);
  kernels::RmsNormKernel<B>::run(ctx, Gain{}, x, gain, y, eps);
}

}  // namespace ashlar::inline ASHLAR_ABI
