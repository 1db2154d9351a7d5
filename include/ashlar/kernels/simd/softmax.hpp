// softmax with SIMD. The exponentials wait in y for their sum.
#pragma once

#include <ashlar/kernels/simd/rows.hpp>
#include <ashlar/ops/softmax.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

template <>
struct SoftmaxKernel<backend::SimdCpu> : SoftmaxKernel<backend::ScalarCpu> {
  using SoftmaxKernel<backend::ScalarCpu>::run;

  static void run(HostContext& ctx, MatrixView<const float> x, MatrixView<float> y,
                  VectorView<float> lse) {
    using simd::Vf;
    const index_t D = x.extent(1);
    simd::for_each_row(ctx, x.extent(0), D, [&](index_t m, int) {
      const float* from = x.row(m);
      float* to = y.row(m);
      const float maximum = row_maximum(from, D);
      const Vf base = simd::set1((std::max)(maximum, (std::numeric_limits<float>::lowest)()));
      const float sum = simd::sum_row(D, [&](auto part, index_t i, Vf c) {
        const Vf p = part.keep(math::exp(simd::sub(part.load(from + i), base)));
        part.store(to + i, p);
        return simd::add(c, p);
      });
      const Vf scale = simd::set1(sum != 0 ? 1.f / sum : 0.f);
      simd::for_each_vector(D, [&](auto part, index_t i) {
        part.store(to + i, simd::mul(part.load(to + i), scale));
      });
      if (!lse.empty())
        lse(m) =
            static_cast<float>(static_cast<double>(maximum) + std::log(static_cast<double>(sum)));
    });
  }

 private:
  /// -inf for an empty row; passes over NaN, which shows in the sum.
  static float row_maximum(const float* x, index_t D) {
    using simd::Vf;
    const auto larger = [](Vf best, Vf v) { return simd::select(simd::less(best, v), v, best); };
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    Vf best[4] = {simd::set1(lowest), simd::set1(lowest), simd::set1(lowest), simd::set1(lowest)};
    index_t i = 0;
    for (; i + 4 * simd::lanes <= D; i += 4 * simd::lanes) {
      ASHLAR_UNROLL
      for (int v = 0; v < 4; ++v) best[v] = larger(best[v], simd::load(x + i + v * simd::lanes));
    }
    float top = simd::horizontal_max(larger(larger(best[0], best[1]), larger(best[2], best[3])));
    for (; i < D; ++i) top = (std::max)(top, x[i]);
    return top;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
