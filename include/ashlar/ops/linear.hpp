// linear: y = x W^T + bias, weights of any stored type.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <ashlar/weights/panels.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Products are summed in blocks of this many k: part of the results' format (docs/contracts.md,
/// V15).
inline constexpr index_t linear_block = 256;

namespace kernels {

template <class B>
struct LinearKernel : LinearKernel<typename B::fallback> {};
template <>
struct LinearKernel<backend::None> {};

/// The contract: for each block of 256 k, a = chain of fma(x[k], w[k], a) from +0; y = a_0, then
/// y + a_1, y + a_2, ..; then y + bias.
template <>
struct LinearKernel<backend::ScalarCpu> {
  template <Element T>
  static void run(HostContext& ctx, MatrixView<const T> x, const WeightMatrix& w,
                  VectorView<const float> bias, MatrixView<T> y) {
    using A = accumulator_t<T>;
    const index_t M = x.extent(0), N = w.rows(), K = w.columns();
    Scratch::Frame frame(ctx.scratch());
    float* rows = frame.get<float>(K * ctx.workers());
    parallel_for(ctx.executor(), N, [&](index_t n, int worker) {
      float* row = rows + worker * K;
      decode_row(w, n, row);
      for (index_t m = 0; m < M; ++m) {
        A sum = 0;
        for (index_t k0 = 0; k0 < K; k0 += linear_block) {
          A a = 0;
          for (index_t k = k0; k < min_index(K, k0 + linear_block); ++k)
            a = std::fma(static_cast<A>(x(m, k)), static_cast<A>(row[k]), a);
          sum = k0 == 0 ? a : sum + a;
        }
        if (!bias.empty()) sum = sum + static_cast<A>(bias(n));
        y(m, n) = static_cast<T>(sum);
      }
    });
  }
};

}  // namespace kernels

/// Fully connected layer: y[m][n] = sum_k x[m][k] W[n][k] + bias[n].
///
/// Shapes   x [M, K], w [N, K], bias [N] or empty, y [M, N]
/// Dtypes   x and y alike; w F32, F16, BF16 or any block format; sums in f32 (f64 for double)
/// Cost     2 M N K flops; reads the stored bytes of w once for small M
/// Throws   ShapeError; ValueError if y overlaps x under ASHLAR_DEBUG_CHECKS
/// Bits     a row of y depends on its row of x only: not on M, threads or the layout of w
template <Backend B, Element T>
void linear(Context<B>& ctx, MatrixView<const T> x, const WeightMatrix& w,
            VectorView<const float> bias, std::type_identity_t<MatrixView<T>> y) {
  if (x.extent(1) != w.columns())
    fail<ShapeError>("linear: x has rows of ", x.extent(1), " elements, expected ", w.columns());
  expect_shape("linear", "y", y, {x.extent(0), w.rows()});
  if (!bias.empty()) expect_shape("linear", "bias", bias, {w.rows()});
  expect_no_overlap("linear", "y", y, "x", x);
  if (y.size() == 0) return;
  kernels::LinearKernel<B>::run(ctx, x, w, bias, y);
}

}  // namespace ashlar::inline ASHLAR_ABI
