// activation, glu, residual_add and map on a device.
#pragma once

#include <ashlar/cuda/elementwise.hpp>
#include <ashlar/cuda/launch.hpp>
#include <ashlar/ops/map.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

template <>
struct ActivationKernel<backend::CudaGpu> {
  template <class Act, Element T>
  static void run(Context<backend::CudaGpu>& ctx, Act, MatrixView<const T> x, MatrixView<T> y) {
    cuda::launch<cuda::Elementwise<cuda::element::Activation<Act>, T>>(ctx, "activation",
                                                                       {x, {}, {}, y});
  }
};

template <>
struct GluKernel<backend::CudaGpu> {
  template <class Act, Element T>
  static void run(Context<backend::CudaGpu>& ctx, Act, MatrixView<const T> gate,
                  MatrixView<const T> up, MatrixView<T> y) {
    cuda::launch<cuda::Elementwise<cuda::element::Gate<Act>, T>>(ctx, "glu", {gate, up, {}, y});
  }
};

template <>
struct ResidualAddKernel<backend::CudaGpu> {
  template <Element T>
  static void run(Context<backend::CudaGpu>& ctx, MatrixView<const T> branch,
                  VectorView<const float> scale, MatrixView<T> x) {
    using namespace cuda;
    if (scale.empty())
      launch<Elementwise<element::AddBranch, T>>(ctx, "residual_add", {x, branch, {}, x});
    else
      launch<Elementwise<element::AddScaledBranch, T>>(ctx, "residual_add", {x, branch, scale, x});
  }
};

template <>
struct MapKernel<backend::CudaGpu> {
  template <class F, Element T>
  static void run(Context<backend::CudaGpu>& ctx, const F& f, MatrixView<T> x) {
    cuda::launch<cuda::Elementwise<cuda::element::Map<F>, T>>(ctx, "map", {x, {}, {}, x, {f}});
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
