// The residual addition and the norm behind it in one kernel: what PreNorm asks a backend for.
#pragma once

#include <ashlar/cuda/norm_launch.hpp>
#include <ashlar/nn/norm/layer_norm.hpp>
#include <ashlar/nn/norm/rms_norm.hpp>
#include <ashlar/nn/residual/layer_scale.hpp>
#include <ashlar/nn/residual/plain.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace cuda {
template <class T>
NormArguments<T, true> add_and_norm_arguments(VectorView<const float> scale,
                                              MatrixView<const T> branch, MatrixView<T> x,
                                              MatrixView<T> y, float eps) {
  NormArguments<T, true> a;
  a.x = x;
  a.y = y;
  a.eps = eps;
  a.branch = branch;
  a.branch_scale = scale;
  return a;
}
inline VectorView<const float> branch_scale(const PlainResidual::Weights&) { return {}; }
inline VectorView<const float> branch_scale(const LayerScale::Weights& w) { return w.scale; }
}  // namespace cuda

/// x += scale ⊙ branch, rounded to T; y = norm(x).
/// Shapes   branch, x, y [M, D]
template <class Gain, class Residual, Element T>
void add_and_norm(Context<backend::CudaGpu>& ctx, BasicRmsNorm<Gain>,
                  const typename BasicRmsNorm<Gain>::Config& c,
                  const typename BasicRmsNorm<Gain>::Weights& w, const Residual& residual,
                  MatrixView<const T> branch, MatrixView<T> x, MatrixView<T> y) {
  auto a = cuda::add_and_norm_arguments(cuda::branch_scale(residual), branch, x, y, c.eps);
  a.gain = w.gain;
  cuda::launch_norm<cuda::NormKind::rms, Gain>(ctx, "rms_norm", a);
}
template <class Gain, class Residual, Element T>
void add_and_norm(Context<backend::CudaGpu>& ctx, BasicLayerNorm<Gain>,
                  const typename BasicLayerNorm<Gain>::Config& c,
                  const typename BasicLayerNorm<Gain>::Weights& w, const Residual& residual,
                  MatrixView<const T> branch, MatrixView<T> x, MatrixView<T> y) {
  auto a = cuda::add_and_norm_arguments(cuda::branch_scale(residual), branch, x, y, c.eps);
  a.gain = w.gain;
  a.bias = w.bias;
  cuda::launch_norm<cuda::NormKind::layer, Gain>(ctx, "layer_norm", a);
}

}  // namespace ashlar::inline ASHLAR_ABI
