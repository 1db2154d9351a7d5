// What the forward kernels share: which tiles of keys a block's queries see, and how its rows end.
#pragma once

#include <ashlar/cuda/attention_problem.hpp>
#include <ashlar/cuda/softmax_rows.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// The tiles of Keys keys that some neighbouring queries, at least one, see.
template <class Problem, int Keys>
struct VisibleTiles {
  const Problem& problem;
  index_t b, head, position;  // of the first query
  int rows, key_count;

  ASHLAR_DEVICE TileKind kind(int tile) const {
    const int k0 = tile * Keys, k1 = k0 + Keys < key_count ? k0 + Keys : key_count;
    return problem.options.mask.classify(b, head, position, position + rows, k0, k1);
  }
  /// The last visible tile before one; -1 for none.
  ASHLAR_DEVICE int visible_before(int tile) const {
    do --tile;
    while (tile >= 0 && kind(tile) == TileKind::skip);
    return tile;
  }
};

/// Writes a fragment's two rows and their log-sum-exp: of queries t0 + accumulator_row(). Rows past
/// the last query, whatever they hold, become 0.
template <class P, class Problem, int Blocks>
ASHLAR_DEVICE void store_rows(const Problem& a, float (&o)[Blocks][4], const SoftmaxRows& rows,
                              float factor, index_t b, index_t head, int t0, int lane,
                              int query_count) {
  using T = typename Problem::T;
  const index_t stored = a.stored_rows(b), width = a.kv.value_width();
  ASHLAR_DEVICE_UNROLL
  for (int r = 0; r < 2; ++r) {
    SoftmaxState<float> row = whole_row<P>(rows, r, factor);
    const int t = t0 + accumulator_row(lane, 2 * r);
    float sink_scale = 1.f;
    if (t < query_count)
      sink_scale = join_sink(a, head, row);
    else
      row = {};
    const bool empty = row.l == 0.f;
    const float scale = sink_scale * P::reciprocal(row.l);
    if (t >= stored) continue;
    T* out = a.output(b, head, t);
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; ++j) {
      const int column = 8 * j + accumulator_column(lane, 2 * r);
      const float low = empty ? 0.f : o[j][2 * r] * scale;
      const float high = empty ? 0.f : o[j][2 * r + 1] * scale;
      if (column >= width) continue;
      if constexpr (sizeof(T) == 2) {
        P::store_pair(out + column, P::template pack<T>(low, high));
      } else {
        out[column] = low;
        out[column + 1] = high;
      }
    }
    if (lane % 4 == 0) a.store_lse(b, head, t, natural_lse<P>(row));
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
