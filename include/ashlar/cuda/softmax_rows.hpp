// The online softmax on accumulator fragments: each thread holds parts of two rows, a quad of lanes
// holds them whole.
#pragma once

#include <ashlar/attention/online_softmax.hpp>
#include <ashlar/attention/tile_kind.hpp>
#include <ashlar/cuda/fragment.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Maximum (in the units of the scores) and this thread's share of the sum, for its two rows.
struct SoftmaxRows {
  float m[2] = {-HUGE_VALF, -HUGE_VALF};
  float l[2] = {0.f, 0.f};
};

/// Adds a tile: scores s, 16 rows x 8 Blocks keys, become the weights 2^(factor (s - max)), and
/// `decay` what outputs so far are multiplied by. A hidden key's score is -inf; there is no finite
/// stand-in for it (V5). The factor is positive.
template <class P, int Blocks>
ASHLAR_DEVICE void weigh_scores(SoftmaxRows& rows, float (&s)[Blocks][4], float factor,
                                float (&decay)[2]) {
  ASHLAR_DEVICE_UNROLL
  for (int r = 0; r < 2; ++r) {
    float m = rows.m[r];
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; ++j) m = P::maximum(m, P::maximum(s[j][2 * r], s[j][2 * r + 1]));
    m = P::maximum(m, P::shuffle_xor(m, 1));
    m = P::maximum(m, P::shuffle_xor(m, 2));
    // Relative to a finite number always: -inf - (-inf) is no weight.
    const float base = m > -HUGE_VALF ? m * factor : 0.f;
    decay[r] = P::exp2(std::fma(rows.m[r], factor, -base));
    float sum = 0.f;
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; ++j) {
      s[j][2 * r] = P::exp2(std::fma(s[j][2 * r], factor, -base));
      s[j][2 * r + 1] = P::exp2(std::fma(s[j][2 * r + 1], factor, -base));
      sum += s[j][2 * r] + s[j][2 * r + 1];
    }
    rows.l[r] = std::fma(rows.l[r], decay[r], sum);
    rows.m[r] = m;
  }
}

/// Weights rounded to T, as the first operand of the product with V.
template <class P, class T, int Blocks>
ASHLAR_DEVICE void pack_weights(const float (&s)[Blocks][4],
                                std::uint32_t (&weights)[Blocks / 2][4]) {
  ASHLAR_DEVICE_UNROLL
  for (int j = 0; j < Blocks; ++j) {
    ASHLAR_DEVICE_UNROLL
    for (int r = 0; r < 2; ++r)
      weights[j / 2][j % 2 * 2 + r] = P::template pack<T>(s[j][2 * r], s[j][2 * r + 1]);
  }
}

/// A row's state in log2 units, the same in all four lanes of the quad.
template <class P>
ASHLAR_DEVICE SoftmaxState<float> whole_row(const SoftmaxRows& rows, int r, float factor) {
  float l = rows.l[r];
  l += P::shuffle_xor(l, 1);
  l += P::shuffle_xor(l, 2);
  SoftmaxState<float> state;
  state.m = rows.m[r] * factor;
  state.l = l;
  return state;
}

/// Which of a row's keys in a thread's fragment are visible: bit 2 j + i for column i of block j.
/// The mask is asked in a loop of its own, which leaves registers to scores.
template <class Problem, int Blocks>
ASHLAR_DEVICE std::uint32_t visible_keys(const Problem& problem, index_t b, index_t head,
                                         index_t position, TileKind kind, int first_key, int keys,
                                         int lane) {
  static_assert(Blocks <= 16);
  std::uint32_t visible = 0;
  const int left = keys - first_key, blocks = left < 8 * Blocks ? (left + 7) / 8 : Blocks;
  if (kind == TileKind::full && left >= 8 * Blocks) return ~0u;
  for (int j = 0; j < blocks; ++j) {
    ASHLAR_DEVICE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int key = first_key + 8 * j + accumulator_column(lane, i);
      // Functors are asked about pairs that exist only: they may look into tables.
      const bool sees =
          key < keys && (kind == TileKind::full || problem.sees(b, head, position, key));
      visible |= std::uint32_t{sees} << (2 * j + i);
    }
  }
  return visible;
}

/// Hides what a tile's rows may not see, and applies the score functor to what they see.
/// `first_row` is the tile's row 0 of this thread's fragment; row i is at query row_of(i) (head,
/// t), or nowhere.
template <class Problem, int Blocks, class RowOf>
ASHLAR_DEVICE void finish_scores(const Problem& problem, float (&s)[Blocks][4], index_t b,
                                 TileKind kind, int first_key, int keys, index_t q_offset, int lane,
                                 RowOf row_of) {
  ASHLAR_DEVICE_UNROLL
  for (int r = 0; r < 2; ++r) {
    int head = 0, t = 0;  // 32 bits until a functor is called: registers are what is short
    const bool exists = row_of(accumulator_row(lane, 2 * r), head, t);
    const index_t position = q_offset + t;
    const std::uint32_t visible =
        exists
            ? visible_keys<Problem, Blocks>(problem, b, head, position, kind, first_key, keys, lane)
            : 0;
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; ++j) {
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < 2; ++i) {
        float& x = s[j][2 * r + i];
        const bool sees = visible >> (2 * j + i) & 1u;
        if constexpr (Problem::has_score)
          x = sees ? problem.score(x * problem.scale, b, head, position,
                                   first_key + 8 * j + accumulator_column(lane, i))
                   : -HUGE_VALF;
        else
          x = sees ? x : -HUGE_VALF;
      }
    }
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
