// map with SIMD.
#pragma once

#include <ashlar/kernels/simd/rows.hpp>
#include <ashlar/ops/map.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

template <>
struct MapKernel<backend::SimdCpu> : MapKernel<backend::ScalarCpu> {
  using MapKernel<backend::ScalarCpu>::run;

  template <class F>
  requires requires(const F& f, simd::Vf v) {
    { f(v) } -> std::same_as<simd::Vf>;
  }
  static void run(HostContext& ctx, const F& f, MatrixView<float> x) {
    simd::for_each_row(ctx, x.extent(0), x.extent(1), [&](index_t m, int) {
      simd::for_each_vector(x.extent(1), [&, row = x.row(m)](auto part, index_t i) {
        part.store(row + i, f(part.load(row + i)));
      });
    });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
