// rms_norm and layer_norm on a device.
#pragma once

#include <ashlar/cuda/launch.hpp>
#include <ashlar/cuda/norm_rows.hpp>
#include <ashlar/ops/layer_norm.hpp>
#include <ashlar/ops/rms_norm.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace cuda {
/// Enqueues the norm with as many threads a row as the row has work for: a warp for a head, more
/// for the width of a model.
template <NormKind Kind, class Gain, class T, bool AddBranch>
void launch_norm(Context<backend::CudaGpu>& ctx, std::string_view op,
                 const NormArguments<T, AddBranch>& a) {
  const index_t pieces = ceil_div(a.x.extent(1), piece<T>);
  if (pieces <= 32)
    launch<NormRows<Kind, T, Gain, AddBranch, 1, 1>>(ctx, op, a);
  else if (pieces <= 256)
    launch<NormRows<Kind, T, Gain, AddBranch, 4, 2>>(ctx, op, a);
  else
    launch<NormRows<Kind, T, Gain, AddBranch, 8, 4>>(ctx, op, a);
}
}  // namespace cuda

namespace kernels {

template <>
struct RmsNormKernel<backend::CudaGpu> {
  template <class Gain, Element T>
  static void run(Context<backend::CudaGpu>& ctx, Gain, MatrixView<const T> x,
                  VectorView<const float> gain, MatrixView<T> y, float eps) {
    cuda::launch_norm<cuda::NormKind::rms, Gain, T, false>(ctx, "rms_norm",
                                                           {x, gain, {}, y, eps, {}, {}});
  }
};

template <>
struct LayerNormKernel<backend::CudaGpu> {
  template <class Gain, Element T>
  static void run(Context<backend::CudaGpu>& ctx, Gain, MatrixView<const T> x,
                  VectorView<const float> gain, VectorView<const float> bias, MatrixView<T> y,
                  float eps) {
    cuda::launch_norm<cuda::NormKind::layer, Gain, T, false>(ctx, "layer_norm",
                                                             {x, gain, bias, y, eps, {}, {}});
  }
};

}  // namespace kernels

}  // namespace ashlar::inline ASHLAR_ABI
