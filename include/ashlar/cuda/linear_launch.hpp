// linear on a device: own kernels for a few rows, cuBLASLt for many.
#pragma once

#include <ashlar/cuda/elementwise_launch.hpp>
#include <ashlar/cuda/gemv.hpp>
#include <ashlar/cuda/product.hpp>
#include <ashlar/cuda/unpack_rows.hpp>
#include <ashlar/ops/linear.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

/// Up to 8 rows read the weights as they are stored, at the speed of the memory. For more, slices
/// of the weights become rows of T in the workspace (32 MiB at most) and meet cuBLASLt there: then
/// the weights are rounded to T, and a row's bits may depend on M.
template <>
struct LinearKernel<backend::CudaGpu> {
  static constexpr index_t most_own_rows = 8;
  static constexpr index_t slice_bytes = index_t{32} << 20;

  template <Element T>
  static void run(Context<backend::CudaGpu>& ctx, MatrixView<const T> x, const WeightMatrix& w,
                  VectorView<const float> bias, MatrixView<T> y) {
    if (w.layout() != WeightLayout::panels)
      fail<ValueError>("linear: weights on a device are expected in panels, got rows");
    cuda::with_weight_type("linear", w.type(), [&]<DType Type>() {
      const index_t M = x.extent(0);
      if (M == 1) return own<Type, 1>(ctx, x, w, bias, y);
      if (M == 2) return own<Type, 2>(ctx, x, w, bias, y);
      if (M <= 4) return own<Type, 4>(ctx, x, w, bias, y);
      if (M <= most_own_rows) return own<Type, 8>(ctx, x, w, bias, y);
      by_slices<Type>(ctx, x, w, y);
      if (!bias.empty())
        cuda::launch<cuda::Elementwise<cuda::element::AddBias, T>>(ctx, "linear", {y, {}, bias, y});
    });
  }

 private:
  template <DType Type, int Rows, class T>
  static void own(Context<backend::CudaGpu>& ctx, MatrixView<const T> x, const WeightMatrix& w,
                  VectorView<const float> bias, MatrixView<T> y) {
    cuda::launch<cuda::Gemv<Type, T, T, Rows>>(ctx, "linear", {x, cuda::DeviceWeights(w), bias, y});
  }
  template <DType Type, class T>
  static void by_slices(Context<backend::CudaGpu>& ctx, MatrixView<const T> x,
                        const WeightMatrix& w, MatrixView<T> y) {
    const index_t K = w.columns(), row = K * static_cast<index_t>(sizeof(T));
    const index_t most = max_index(slice_bytes / row / panel_rows, 1) * panel_rows;
    Scratch::Frame frame(ctx.scratch());
    const auto rows = frame.tensor<T, 2>({min_index(w.rows(), most), K});
    for (index_t n = 0; n < w.rows(); n += most) {
      cuda::DeviceWeights slice(w);
      slice.data += n / panel_rows * cuda::PanelPieces<Type>::panel_size(K);
      slice.rows = min_index(most, w.rows() - n);
      const MatrixView<T> part = rows.slice(0, 0, slice.rows);
      cuda::launch<cuda::UnpackRows<Type, T>>(ctx, "linear", {slice, part});
      cuda::multiply<T>(ctx, x, part, y.slice(1, n, n + slice.rows));
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
