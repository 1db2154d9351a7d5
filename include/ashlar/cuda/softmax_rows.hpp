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
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; ++j) {
      ASHLAR_DEVICE_UNROLL
      for (int i = 2 * r; i < 2 * r + 2; ++i) {
        const int key = first_key + 8 * j + accumulator_column(lane, i);
        // Functors are asked about pairs that exist only: they may look into tables.
        const bool visible = exists && key < keys &&
                             (kind == TileKind::full || problem.sees(b, head, position, key));
        if constexpr (Problem::has_score)
          s[j][i] =
              visible ? problem.score(s[j][i] * problem.scale, b, head, position, key) : -HUGE_VALF;
        else
          s[j][i] = visible ? s[j][i] : -HUGE_VALF;
      }
    }
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
