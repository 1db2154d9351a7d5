// linear by Eigen's matrix product, some columns of y a task; the only file that includes Eigen.
//
// The order of sums is Eigen's: near the contract, not its bits. Eigen allocates what it packs
// blocks into.
#pragma once

#include <ashlar/kernels/simd/linear.hpp>

// g++ 12 warns of its own AVX-512 header where Eigen uses it.
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#  pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <Eigen/Core>

namespace ashlar::inline ASHLAR_ABI::kernels {
namespace eigen_linear {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Matrix>
using Strided = Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

inline constexpr index_t panels_a_task = 8;

/// Columns from n0 of W^T [K, columns]: `panels` panels as floats [K][16 * panels].
inline void widen(const WeightMatrix& w, index_t n0, index_t panels, std::byte* packed,
                  float* out) {
  const index_t size = panel_bytes(w.type(), w.columns());
  const auto widen_panel = simd_linear::kernels_of(w.type()).widen_panel;
  for (index_t p = 0; p < panels; ++p) {
    const index_t n = n0 + p * panel_rows;
    const std::byte* panel = packed;
    if (w.layout() == WeightLayout::panels)
      panel = w.data() + n / panel_rows * size;
    else
      ashlar::detail::pack_panel(w, n, 0, w.columns(), packed);
    widen_panel(panel, w.columns(), out + p * panel_rows, panels * panel_rows);
  }
}

}  // namespace eigen_linear

/// Float activations. Others take the scalar kernel.
template <>
struct LinearKernel<backend::EigenCpu> : LinearKernel<backend::SimdCpu> {
  using LinearKernel<backend::SimdCpu>::run;

  static void run(HostContext& ctx, MatrixView<const float> x, const WeightMatrix& w,
                  VectorView<const float> bias, MatrixView<float> y) {
    using namespace eigen_linear;
    const index_t M = x.extent(0), N = w.rows(), K = w.columns();
    if (K == 0) return LinearKernel<backend::SimdCpu>::run(ctx, x, w, bias, y);
    constexpr index_t width = panels_a_task * panel_rows;
    const index_t packed_size = round_up(panel_bytes(w.type(), K), 64);
    Scratch::Frame frame(ctx.scratch());
    float* floats = frame.get<float>(width * K * ctx.workers());
    std::byte* packed = frame.get<std::byte>(packed_size * ctx.workers());

    const Strided<const RowMajor> all_x(x.data(), M, K, Eigen::OuterStride<>(x.stride(0)));
    parallel_for(ctx.executor(), ceil_div(N, width), [&](index_t task, int worker) {
      const index_t n0 = task * width, columns = min_index(width, N - n0);
      const index_t stride = round_up(columns, panel_rows);
      float* own = floats + worker * width * K;
      widen(w, n0, stride / panel_rows, packed + worker * packed_size, own);
      const Strided<const RowMajor> part(own, K, columns, Eigen::OuterStride<>(stride));
      Strided<RowMajor> out(y.data() + n0, M, columns, Eigen::OuterStride<>(y.stride(0)));
      out.noalias() = all_x * part;
      if (!bias.empty())
        out.rowwise() += Eigen::Map<const Eigen::RowVectorXf>(bias.data() + n0, columns);
    });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels

#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic pop
#endif
