// What the tiles of linear read: blocks of panels, and rows of x packed beside each other.
#pragma once

#include <ashlar/kernels/simd/linear_tiles.hpp>
#include <ashlar/ops/linear.hpp>
#include <ashlar/weights/pack.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels::simd_linear {

/// Blocks of k of panels: in place, or packed into scratch memory for weights in rows.
struct PanelSource {
  const WeightMatrix& w;
  index_t panel_size, block_size;  // bytes of K and of linear_block k

  explicit PanelSource(const WeightMatrix& weights)
      : w(weights),
        panel_size(panel_bytes(weights.type(), weights.columns())),
        block_size(panel_bytes(weights.type(), linear_block)) {}

  bool packed() const { return w.layout() == WeightLayout::panels; }
  /// Bytes of scratch that `panels` panels need.
  index_t scratch_bytes(index_t panels) const { return packed() ? 0 : panels * block_size; }

  /// Columns from k0 of `panels` panels from `first` on, `step` panels apart.
  PanelBlocks block(index_t first, index_t step, index_t panels, index_t k0,
                    std::byte* scratch) const {
    if (packed())
      return {w.data() + first * panel_size + k0 / linear_block * block_size, step * panel_size};
    for (index_t p = 0; p < panels; ++p)
      ashlar::detail::pack_panel(w, (first + p * step) * panel_rows, k0,
                                 min_index(w.columns(), k0 + linear_block),
                                 scratch + p * block_size);
    return {scratch, block_size};
  }
};

/// Elements [k0, k1) of `Rows` rows as [K][Rows]. Four by four elements are turned in registers.
template <int Rows>
void pack_rows(MatrixView<const float> x, index_t k0, index_t k1, float* out) {
  using Four = float __attribute__((vector_size(16)));
  const auto load = [&](index_t m, index_t k) {
    Four v;
    std::memcpy(&v, x.row(m) + k, sizeof v);
    return v;
  };
  constexpr int fours = Rows / 4 * 4;
  for (int m = 0; m < fours; m += 4) {
    index_t k = k0;
    for (; k + 4 <= k1; k += 4) {
      const Four a = load(m, k), b = load(m + 1, k), c = load(m + 2, k), d = load(m + 3, k);
      const Four ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      const Four ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Four cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
      const Four cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      const Four turned[4] = {__builtin_shufflevector(ab0, cd0, 0, 1, 4, 5),
                              __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7),
                              __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5),
                              __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7)};
      ASHLAR_UNROLL
      for (int i = 0; i < 4; ++i) std::memcpy(out + (k + i) * Rows + m, &turned[i], sizeof(Four));
    }
    for (; k < k1; ++k)
      for (int i = m; i < m + 4; ++i) out[k * Rows + i] = x(i, k);
  }
  for (int m = fours; m < Rows; ++m)
    for (index_t k = k0; k < k1; ++k) out[k * Rows + m] = x(m, k);
}

/// Rows [M, K] with any stride as tiles [M / tile_rows][K][rows of the tile].
inline void pack_tiles(const Executor& executor, MatrixView<const float> x, float* out) {
  const index_t M = x.extent(0), K = x.extent(1);
  const bool tiny = M * K < (index_t{1} << 16);
  parallel_for(tiny ? Executor{} : executor, ceil_div(M, tile_rows), [&](index_t t, int) {
    const index_t m0 = t * tile_rows, rows = min_index(tile_rows, M - m0);
    const auto tile = x.slice(0, m0, m0 + rows);
    float* to = out + m0 * K;
    constexpr index_t step = 16;  // one cache line of each row at a time
    for (index_t k0 = 0; k0 < K; k0 += step) {
      const index_t k1 = min_index(K, k0 + step);
      if (rows == tile_rows) {
        pack_rows<tile_rows>(tile, k0, k1, to);
        continue;
      }
      for (index_t m = 0; m < rows; ++m)
        for (index_t k = k0; k < k1; ++k) to[k * rows + m] = tile(m, k);
    }
  });
}

}  // namespace ashlar::inline ASHLAR_ABI::kernels::simd_linear
