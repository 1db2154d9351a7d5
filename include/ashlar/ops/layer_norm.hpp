// layer_norm: y = (x - mean) / sqrt(variance + eps) * gain + bias.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <ashlar/core/fold.hpp>
#include <ashlar/ops/norm_gain.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace kernels {

template <class B>
struct LayerNormKernel : LayerNormKernel<typename B::fallback> {};
template <>
struct LayerNormKernel<backend::None> {};

/// Corrected two-pass: the mean of the deviations from the rounded mean is taken off as well, so
/// that rows whose mean dwarfs their spread come out right (V9).
template <>
struct LayerNormKernel<backend::ScalarCpu> {
  template <class Gain, Element T>
  static void run(HostContext& ctx, Gain, MatrixView<const T> x, VectorView<const float> gain,
                  VectorView<const float> bias, MatrixView<T> y, float eps) {
    using A = accumulator_t<T>;
    const index_t D = x.extent(1);
    const A n = static_cast<A>(D);
    parallel_for(ctx.executor(), x.extent(0), [&](index_t m, int) {
      const auto at = [&](index_t i) { return static_cast<A>(x(m, i)); };
      const A mean = chained_sum<A>(D, at) / n;
      const A rest = chained_sum<A>(D, [&](index_t i) { return at(i) - mean; }) / n;
      const auto deviation = [&](index_t i) { return (at(i) - mean) - rest; };
      const A scale =
          A(1) / std::sqrt(chained_square_sum<A>(D, deviation) / n + static_cast<A>(eps));
      for (index_t i = 0; i < D; ++i) {
        const A unit = deviation(i) * scale;
        const A w = gain.empty() ? A(1) : Gain::factor(static_cast<A>(gain(i)));
        y(m, i) = static_cast<T>(std::fma(unit, w, bias.empty() ? A(0) : static_cast<A>(bias(i))));
      }
    });
  }
};

}  // namespace kernels

/// Layer normalisation of rows: y = (x - mean) / sqrt(variance + eps) * gain + bias, or with
/// 1 + gain (gain::PlusOne), the sum in f32. Source: Ba et al. 2016.
///
/// Shapes   x, y [M, D], gain and bias [D] or empty for none
/// Dtypes   x and y alike, sums in f32 (f64 for double)
/// Cost     three passes for the sums, one for the result
/// Throws   ShapeError; ValueError for eps < 0
/// Alias    y may be x
template <class Gain = gain::BeforeRounding, Backend B, Element T>
void layer_norm(Context<B>& ctx, MatrixView<const T> x, VectorView<const float> gain,
                VectorView<const float> bias, std::type_identity_t<MatrixView<T>> y, float eps) {
  if (x.extent(1) < 1) fail<ShapeError>("layer_norm: x has rows of ", x.extent(1), " elements");
  if (!(eps >= 0.f)) fail<ValueError>("layer_norm: eps is ", eps, ", expected at least 0");
  expect_shape("layer_norm", "y", y, {x.extent(0), x.extent(1)});
  if (gain.data()) expect_shape("layer_norm", "gain", gain, {x.extent(1)});
  if (bias.data()) expect_shape("layer_norm", "bias", bias, {x.extent(1)});
  expect_no_overlap("layer_norm", "y", y, "x", x, true);
  kernels::LayerNormKernel<B>::run(ctx, Gain{}, x, gain, bias, y, eps);
}

}  // namespace ashlar::inline ASHLAR_ABI
