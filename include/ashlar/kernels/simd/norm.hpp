// rms_norm and layer_norm with SIMD. A row stays in the nearest cache between its passes.
#pragma once

#include <ashlar/kernels/simd/rows.hpp>
#include <ashlar/ops/layer_norm.hpp>
#include <ashlar/ops/rms_norm.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

template <>
struct RmsNormKernel<backend::SimdCpu> : RmsNormKernel<backend::ScalarCpu> {
  using RmsNormKernel<backend::ScalarCpu>::run;

  /// A gain that does not take vectors is left to the scalar kernel.
  template <class Gain>
  requires requires(simd::Vf v) {
    { Gain::template apply<simd::Vf>(v, v) } -> std::same_as<simd::Vf>;  // a float is not rounded
  }
  static void run(HostContext& ctx, Gain, MatrixView<const float> x, VectorView<const float> gain,
                  MatrixView<float> y, float eps) {
    using simd::Vf;
    const index_t D = x.extent(1);
    const float* w = gain.data();
    simd::for_each_row(ctx, x.extent(0), D, [&](index_t m, int) {
      const float* from = x.row(m);
      float* to = y.row(m);
      const float squares = simd::sum_row(D, [&](auto part, index_t i, Vf c) {
        const Vf v = part.load(from + i);
        return simd::fma(v, v, c);
      });
      const Vf scale = simd::set1(1.f / std::sqrt(squares / static_cast<float>(D) + eps));
      simd::for_each_vector(D, [&](auto part, index_t i) {
        const Vf unit = simd::mul(part.load(from + i), scale);
        part.store(to + i, w ? Gain::template apply<Vf>(unit, part.load(w + i)) : unit);
      });
    });
  }
};

template <>
struct LayerNormKernel<backend::SimdCpu> : LayerNormKernel<backend::ScalarCpu> {
  using LayerNormKernel<backend::ScalarCpu>::run;

  /// A gain that does not take vectors is left to the scalar kernel.
  template <class Gain>
  requires requires(simd::Vf v) {
    { Gain::factor(v) } -> std::same_as<simd::Vf>;
  }
  static void run(HostContext& ctx, Gain, MatrixView<const float> x, VectorView<const float> gain,
                  VectorView<const float> bias, MatrixView<float> y, float eps) {
    using simd::Vf;
    const index_t D = x.extent(1);
    const auto n = static_cast<float>(D);
    const float *w = gain.data(), *b = bias.data();
    simd::for_each_row(ctx, x.extent(0), D, [&](index_t m, int) {
      const float* from = x.row(m);
      float* to = y.row(m);
      const Vf mean =
          simd::set1(simd::sum_row(D, [&](auto part, index_t i,
                                          Vf c) { return simd::add(c, part.load(from + i)); }) /
                     n);
      const auto off_mean = [&](auto part, index_t i) {
        return simd::sub(part.load(from + i), mean);
      };
      const Vf rest = simd::set1(
          simd::sum_row(D, [&](auto part, index_t i,
                               Vf c) { return simd::add(c, part.keep(off_mean(part, i))); }) /
          n);
      const auto deviation = [&](auto part, index_t i) {
        return simd::sub(off_mean(part, i), rest);
      };
      const float squares = simd::sum_row(D, [&](auto part, index_t i, Vf c) {
        const Vf v = part.keep(deviation(part, i));
        return simd::fma(v, v, c);
      });
      const Vf scale = simd::set1(1.f / std::sqrt(squares / n + eps));
      simd::for_each_vector(D, [&](auto part, index_t i) {
        const Vf unit = simd::mul(deviation(part, i), scale);
        part.store(to + i, simd::fma(unit, w ? Gain::factor(part.load(w + i)) : simd::set1(1.f),
                                     b ? part.load(b + i) : simd::set1(0.f)));
      });
    });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
