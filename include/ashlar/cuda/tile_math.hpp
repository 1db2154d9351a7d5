// Copies of tiles into shared memory, and products of tiles, as forward and decode kernels share
// them.
#pragma once

#include <ashlar/cuda/fragment.hpp>
#include <ashlar/cuda/shared_tile.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Begins the copy of rows 0 .. rows - 1 of `width` elements to a tile, by `Threads` threads; what
/// the tile has beyond them becomes 0 and is not read. row_of(r) is the address of row r; width is
/// a multiple of 8, and row 0 exists. Eight threads copy the 128 bytes of a row in a panel; a
/// thread takes the same place of every Threads / 8th row and of every panel.
template <class P, class Tile, int Threads, class RowOf>
ASHLAR_DEVICE void copy_tile(std::uint32_t tile, int thread, index_t rows, index_t width,
                             RowOf row_of) {
  constexpr int step = Threads / 8;
  static_assert(Tile::rows % step == 0);
  const int first = thread / 8, place = thread % 8, last = static_cast<int>(width);
  const int count = static_cast<int>(min_index(rows, Tile::rows));
  ASHLAR_DEVICE_UNROLL
  for (int i = 0; i < Tile::rows; i += step) {
    const int row = first + i;
    const auto* from = row_of(row < count ? row : 0) + place * chunk_elements;
    ASHLAR_DEVICE_UNROLL
    for (int panel = 0; panel < Tile::columns / 64; ++panel) {
      const bool inside = row < count && panel * 64 + place * chunk_elements < last;
      P::copy_async(tile + Tile::offset(row, panel * 8 + place), from + (inside ? panel * 64 : 0),
                    inside);
    }
  }
}

/// Changes the sign of what this thread has copied to a tile.
template <class P, class Tile, int Threads>
ASHLAR_DEVICE void negate_copied(std::uint32_t tile, int thread) {
  for (int row = thread / 8; row < Tile::rows; row += Threads / 8)
    for (int panel = 0; panel < Tile::columns / 64; ++panel) {
      const std::uint32_t chunk = tile + Tile::offset(row, panel * 8 + thread % 8);
      for (std::uint32_t pair = chunk; pair < chunk + chunk_bytes; pair += 4)
        P::template store_shared<std::uint32_t>(
            pair, P::template load_shared<std::uint32_t>(pair) ^ 0x80008000u);
    }
}

/// s = q k^T for M x 16 queries and 8 x Blocks keys. `q` and `k` are this lane's addresses of the
/// first fragments: of left_operand(lane) in the warp's rows, of right_operand(lane) in the keys.
template <class P, class T, class QueryTile, class KeyTile, int M, int Blocks>
ASHLAR_DEVICE void multiply_queries(float (&s)[M][Blocks][4], std::uint32_t q, std::uint32_t k) {
  ASHLAR_DEVICE_UNROLL
  for (int m = 0; m < M; ++m) {
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; ++j) s[m][j][0] = s[m][j][1] = s[m][j][2] = s[m][j][3] = 0.f;
  }
  ASHLAR_DEVICE_UNROLL
  for (int step = 0; step < KeyTile::columns / 16; ++step) {
    std::uint32_t a[M][4];
    ASHLAR_DEVICE_UNROLL
    for (int m = 0; m < M; ++m)
      P::load_matrix(a[m], QueryTile::step(q, step) + QueryTile::rows_down(16 * m));
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; j += 2) {
      std::uint32_t b[4];
      P::load_matrix(b, KeyTile::step(k, step) + KeyTile::rows_down(8 * j));
      ASHLAR_DEVICE_UNROLL
      for (int m = 0; m < M; ++m) {
        P::template multiply_add<T>(s[m][j], a[m], b[0], b[1]);
        P::template multiply_add<T>(s[m][j + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// o += p v for M x 16 queries; `v` is this lane's address of the first fragment, of
/// left_operand(lane).
template <class P, class T, class ValueTile, int M, int Steps, int Blocks>
ASHLAR_DEVICE void multiply_values(float (&o)[M][Blocks][4],
                                   const std::uint32_t (&weights)[M][Steps][4], std::uint32_t v) {
  ASHLAR_DEVICE_UNROLL
  for (int step = 0; step < Steps; ++step) {
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; j += 2) {
      std::uint32_t b[4];
      P::load_matrix_transposed(b, ValueTile::step(v, j / 2) + ValueTile::rows_down(16 * step));
      ASHLAR_DEVICE_UNROLL
      for (int m = 0; m < M; ++m) {
        P::template multiply_add<T>(o[m][j], weights[m][step], b[0], b[1]);
        P::template multiply_add<T>(o[m][j + 1], weights[m][step], b[2], b[3]);
      }
    }
  }
}

/// Multiplies a fragment's two rows.
template <int Blocks>
ASHLAR_DEVICE void scale_rows(float (&o)[Blocks][4], const float (&scale)[2]) {
  ASHLAR_DEVICE_UNROLL
  for (int j = 0; j < Blocks; ++j) {
    o[j][0] *= scale[0];
    o[j][1] *= scale[0];
    o[j][2] *= scale[1];
    o[j][3] *= scale[1];
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
