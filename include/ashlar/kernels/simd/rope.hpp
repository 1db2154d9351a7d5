// rope with SIMD.
#pragma once

#include <ashlar/kernels/simd/rows.hpp>
#include <ashlar/ops/rope.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

template <>
struct RopeKernel<backend::SimdCpu> : RopeKernel<backend::ScalarCpu> {
  using RopeKernel<backend::ScalarCpu>::run;

  static void run(HostContext& ctx, TensorView<const float, 3> table, RopePairing pairing,
                  TensorView<float, 3> x) {
    if (pairing == RopePairing::half_split) {
      half_split(ctx, table, x);
    } else {
      interleaved(ctx, table, x);
    }
  }

 private:
  static void half_split(HostContext& ctx, TensorView<const float, 3> table,
                         TensorView<float, 3> x) {
    using simd::Vf;
    const index_t pairs = table.extent(2);
    simd::for_each_row(ctx, x.extent(0), x.extent(1) * 2 * pairs, [&](index_t m, int) {
      const float *cosine = table.at(m).row(0), *sine = table.at(m).row(1);
      for (index_t n = 0; n < x.extent(1); ++n) {
        float* head = x.at(m).row(n);
        simd::for_each_vector(pairs, [&](auto part, index_t i) {
          const Vf c = part.load(cosine + i), s = part.load(sine + i);
          const Vf a = part.load(head + i), b = part.load(head + pairs + i);
          part.store(head + i, simd::fma(a, c, math::Ops<Vf>::negate(simd::mul(b, s))));
          part.store(head + pairs + i, simd::fma(b, c, simd::mul(a, s)));
        });
      }
    });
  }

  /// On neighbouring lanes: (a, b) (c, c) + (b, a) (-s, s), the factors laid out once a row.
  static void interleaved(HostContext& ctx, TensorView<const float, 3> table,
                          TensorView<float, 3> x) {
    using simd::Vf;
    const index_t pairs = table.extent(2), width = 2 * pairs;
    Scratch::Frame frame(ctx.scratch());
    float* factors = frame.get<float>(2 * width * ctx.workers());
    simd::for_each_row(ctx, x.extent(0), x.extent(1) * width, [&](index_t m, int worker) {
      float *cosine = factors + worker * 2 * width, *sine = cosine + width;
      for (index_t i = 0; i < pairs; ++i) {
        cosine[2 * i] = cosine[2 * i + 1] = table(m, 0, i);
        sine[2 * i] = -table(m, 1, i);
        sine[2 * i + 1] = table(m, 1, i);
      }
      for (index_t n = 0; n < x.extent(1); ++n) {
        float* head = x.at(m).row(n);
        simd::for_each_vector(width, [&](auto part, index_t i) {
          const Vf v = part.load(head + i);
          const Vf crossed = simd::mul(simd::swap_pairs(v), part.load(sine + i));
          part.store(head + i, simd::fma(v, part.load(cosine + i), crossed));
        });
      }
    });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
