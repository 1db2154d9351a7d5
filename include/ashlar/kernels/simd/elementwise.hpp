// activation, glu and residual_add with SIMD.
#pragma once

#include <ashlar/kernels/simd/rows.hpp>
#include <ashlar/ops/activation.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

/// An activation that takes vectors. One for float and double alone is left to the scalar kernels.
template <class Act>
concept VectorActivation = requires(simd::Vf v) {
  { Act::apply(v) } -> std::same_as<simd::Vf>;
};

template <>
struct ActivationKernel<backend::SimdCpu> : ActivationKernel<backend::ScalarCpu> {
  using ActivationKernel<backend::ScalarCpu>::run;

  template <VectorActivation Act>
  static void run(HostContext& ctx, Act, MatrixView<const float> x, MatrixView<float> y) {
    simd::for_each_row(ctx, x.extent(0), x.extent(1), [&](index_t m, int) {
      simd::for_each_vector(x.extent(1), [from = x.row(m), to = y.row(m)](auto part, index_t i) {
        part.store(to + i, Act::apply(part.load(from + i)));
      });
    });
  }
};

template <>
struct GluKernel<backend::SimdCpu> : GluKernel<backend::ScalarCpu> {
  using GluKernel<backend::ScalarCpu>::run;

  template <VectorActivation Act>
  static void run(HostContext& ctx, Act, MatrixView<const float> gate, MatrixView<const float> up,
                  MatrixView<float> y) {
    simd::for_each_row(ctx, gate.extent(0), gate.extent(1), [&](index_t m, int) {
      const float *g = gate.row(m), *u = up.row(m);
      simd::for_each_vector(gate.extent(1), [&, to = y.row(m)](auto part, index_t i) {
        part.store(to + i, simd::mul(Act::apply(part.load(g + i)), part.load(u + i)));
      });
    });
  }
};

template <>
struct ResidualAddKernel<backend::SimdCpu> : ResidualAddKernel<backend::ScalarCpu> {
  using ResidualAddKernel<backend::ScalarCpu>::run;

  static void run(HostContext& ctx, MatrixView<const float> branch, VectorView<const float> scale,
                  MatrixView<float> x) {
    using simd::Vf;
    const float* s = scale.data();
    simd::for_each_row(ctx, x.extent(0), x.extent(1), [&](index_t m, int) {
      const float* from = branch.row(m);
      simd::for_each_vector(x.extent(1), [&, to = x.row(m)](auto part, index_t i) {
        const Vf y = part.load(from + i), sum = part.load(to + i);
        part.store(to + i, s ? simd::fma(part.load(s + i), y, sum) : simd::add(sum, y));
      });
    });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
