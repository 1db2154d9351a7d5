// The end of a decoding block: its warps saw different keys of the same rows.
#pragma once

#include <ashlar/cuda/attention_splits.hpp>
#include <ashlar/cuda/softmax_rows.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Rows of Dv outputs and a state from every warp, in shared memory from `work` on.
template <int Warps, int Rows, int Dv>
struct DecodeMerge {
  static constexpr std::uint32_t row_bytes = Dv * 4, bytes = Warps * Rows * (row_bytes + 8);
  std::uint32_t work;

  /// Puts a warp's rows where others can read them.
  template <class P>
  ASHLAR_DEVICE void leave(const float (&o)[Dv / 8][4], const SoftmaxRows& rows, float factor,
                           int warp, int lane) const {
    ASHLAR_DEVICE_UNROLL
    for (int r = 0; r < 2; ++r) {
      const SoftmaxState<float> row = whole_row<P>(rows, r, factor);
      const auto n = static_cast<std::uint32_t>(warp * Rows + accumulator_row(lane, 2 * r));
      if (lane % 4 == 0) P::store_shared(state(n), row);
      ASHLAR_DEVICE_UNROLL
      for (int j = 0; j < Dv / 8; ++j) {
        ASHLAR_DEVICE_UNROLL
        for (int i = 2 * r; i < 2 * r + 2; ++i)
          P::store_shared(out(n, 8 * j + accumulator_column(lane, i)), o[j][i]);
      }
    }
  }
  /// Merges the warps' rows, first warp first, and writes the split's result.
  template <class P, class Arguments, class Packed>
  ASHLAR_DEVICE void write(const Arguments& a, const Packed& packed, index_t b, int thread) const {
    const int width = static_cast<int>(a.problem.kv.value_width());
    for (int i = thread; i < Rows * Dv; i += 32 * Warps) {
      const int row = i / Dv, column = i % Dv;
      if (row >= packed.count() || column >= width) continue;
      auto n = static_cast<std::uint32_t>(row);
      auto merged = P::template load_shared<SoftmaxState<float>>(state(n));
      float o = P::template load_shared<float>(out(n, column));
      for (int w = 1; w < Warps; ++w) {
        n += Rows;
        const auto scales = merge(merged, P::template load_shared<SoftmaxState<float>>(state(n)));
        o = std::fma(scales.first, o,
                     scales.second * P::template load_shared<float>(out(n, column)));
      }
      const index_t at = a.result(b, packed.head(row), packed.query(row), P::block_x());
      a.results.out[at * width + column] = o;
      if (column == 0) a.results.state[at] = merged;
    }
  }

 private:
  ASHLAR_DEVICE std::uint32_t out(std::uint32_t n, int column) const {
    return work + n * row_bytes + static_cast<std::uint32_t>(column) * 4;
  }
  ASHLAR_DEVICE std::uint32_t state(std::uint32_t n) const {
    return work + Warps * Rows * row_bytes + n * 8;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
