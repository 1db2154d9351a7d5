// Rows times strips of 32 columns, read from end to end: both products of attention_decode.
#pragma once

#include <algorithm>
#include <ashlar/kernels/simd/attention_source.hpp>

namespace ashlar::inline ASHLAR_ABI::simd {

/// Vectors of a strip and rows of x that are summed at once.
inline constexpr int strip_vectors = lanes >= 8 ? int{strip_width} / lanes : 4;
inline constexpr int strip_rows = lanes == 16 ? 4 : 3;
/// Bytes that memory is asked for ahead. The softmax between the products and the change between K
/// and V stop the processor's own prefetching: 1.2 to 1.5 times as fast on Sapphire Rapids.
inline constexpr std::size_t strip_ahead = 16384;

template <bool Odd, int Rows, class E>
ASHLAR_INLINE void add_strip_row(const float* x, index_t x_stride, const E* strip, int first,
                                 index_t r, Vf (&acc)[Rows][strip_vectors]) {
  Vf b[Rows];
  ASHLAR_UNROLL
  for (int i = 0; i < Rows; ++i) b[i] = set1(x[i * x_stride + r]);
  ASHLAR_UNROLL
  for (int c = 0; c < strip_vectors; ++c) {
    const Vf w = strip_row<Odd>(strip, r, first + c);
    ASHLAR_UNROLL
    for (int i = 0; i < Rows; ++i) acc[i][c] = fma(b[i], w, acc[i][c]);
  }
}

/// y[i][c] += sum over r of x[i][r] * strip[r][c], r in [r0, r1) ascending, r0 even, for
/// strip_vectors vectors of columns from vector `first` on.
template <int Rows, class E>
ASHLAR_NOINLINE void strip_product(const float* x, index_t x_stride, const E* strip, int first,
                                   index_t r0, index_t r1, float* y, index_t y_stride) {
  Vf acc[Rows][strip_vectors];
  y += first * lanes;
  ASHLAR_UNROLL
  for (int i = 0; i < Rows; ++i) {
    ASHLAR_UNROLL
    for (int c = 0; c < strip_vectors; ++c) acc[i][c] = load(y + i * y_stride + c * lanes);
  }
  constexpr index_t line = 64 / index_t{sizeof(E)};
#if defined(__GNUC__)
#  pragma GCC unroll 1
#endif
  for (; r0 + 2 <= r1; r0 += 2) {
    for (index_t i = 0; i < 2 * strip_width; i += line)
      prefetch(strip + r0 * strip_width + i, strip_ahead);
    add_strip_row<false>(x, x_stride, strip, first, r0, acc);
    add_strip_row<true>(x, x_stride, strip, first, r0 + 1, acc);
  }
  if (r0 < r1) add_strip_row<false>(x, x_stride, strip, first, r0, acc);
  ASHLAR_UNROLL
  for (int i = 0; i < Rows; ++i) {
    ASHLAR_UNROLL
    for (int c = 0; c < strip_vectors; ++c) store(y + i * y_stride + c * lanes, acc[i][c]);
  }
}

/// The same for any number of rows and the whole strip. Where that takes several passes, blocks of
/// rows pass one after the other, so that only the first pass reads them from memory.
template <class E>
void add_strip(const float* x, index_t x_stride, index_t rows, const E* strip, index_t strip_length,
               float* y, index_t y_stride) {
  constexpr index_t block_length = 16;
  const bool one_pass = rows <= strip_rows && strip_vectors * lanes == strip_width;
  const index_t step = one_pass ? strip_length : block_length;
  for (index_t r0 = 0; r0 < strip_length; r0 += step) {
    const index_t r1 = min_index(strip_length, r0 + step);
    for (int c = 0; c < strip_width / lanes; c += strip_vectors)
      for (index_t i = 0; i < rows; i += strip_rows) {
        const float* xi = x + i * x_stride;
        float* yi = y + i * y_stride;
        switch (min_index(rows - i, strip_rows)) {
          case 1:
            strip_product<1>(xi, x_stride, strip, c, r0, r1, yi, y_stride);
            break;
          case 2:
            strip_product<2>(xi, x_stride, strip, c, r0, r1, yi, y_stride);
            break;
          case 3:
            strip_product<3>(xi, x_stride, strip, c, r0, r1, yi, y_stride);
            break;
          default:
            strip_product<strip_rows>(xi, x_stride, strip, c, r0, r1, yi, y_stride);
        }
      }
  }
}

/// Floats of scratch that strip_tile_of needs.
template <class E>
index_t strip_scratch(const KeySource<E>& kv) {
  return kv.rows ? kv.tile_size() : 0;
}
template <class E>
StripTile<E> strip_tile_of(const KeySource<E>& kv, index_t b, index_t head, index_t tile,
                           index_t count, float* scratch) {
  if constexpr (std::is_same_v<E, float>)
    if (kv.rows) return packed_strips(*kv.rows, b, head, tile, count, scratch);
  return {kv.tiles.k_tile(b, head, tile), kv.tiles.v_tile(b, head, tile),
          KvTiles<E>::k_rows(kv.key_width())};
}

/// Whether `keys` rows of V hold neither NaN nor Inf.
template <class E>
bool finite_strips(const E* v, index_t width, index_t keys) {
  for (index_t d = 0; d < width; ++d)
    for (index_t j = 0; j < keys; ++j)
      if (!std::isfinite(static_cast<float>(v[KvTiles<E>::offset(key_tile, j, d)]))) return false;
  return true;
}

/// o[d] += sum over keys of p * v for one row, keys with p < 0 left out.
template <class E>
void add_visible_rows(const float* p, const E* v, index_t keys, index_t width, float* o) {
  for (index_t d = 0; d < width; ++d)
    for (index_t j = 0; j < keys; ++j)
      if (!(p[j] < 0.f))
        o[d] = std::fma(p[j], static_cast<float>(v[KvTiles<E>::offset(key_tile, j, d)]), o[d]);
}

}  // namespace ashlar::inline ASHLAR_ABI::simd
