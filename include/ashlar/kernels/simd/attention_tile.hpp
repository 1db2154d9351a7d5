// The register tiles of attention: queries on the lanes, keys and values as scalars to broadcast.
#pragma once

#include <algorithm>
#include <ashlar/attention/kv_tiles.hpp>
#include <ashlar/attention/online_softmax.hpp>
#include <ashlar/kernels/simd/vec_math.hpp>

namespace ashlar::inline ASHLAR_ABI::simd {

/// A panel is this many vectors of queries; a tile is tile_items keys or columns of V times a
/// panel, sized to fill the registers.
inline constexpr int panel_vectors = 3;
inline constexpr index_t panel_width = panel_vectors * lanes;
inline constexpr int tile_items = lanes == 16 ? 8 : 4;
static_assert(strip_width % tile_items == 0);

/// K or V of one tile of 64 keys in strips of 32 items (keys of K, columns of V): [summed
/// index][32].
struct Operand {
  const float* data;
  index_t strip;  // elements of a strip

  const float* at(index_t i) const { return data + i / strip_width * strip + i % strip_width; }
  float operator()(index_t i, index_t r) const { return at(i)[r * strip_width]; }
};

/// acc[i][v] += sum over r of a[r][i] * b[r][v], r ascending.
template <int Items, int Vectors>
ASHLAR_INLINE void add_products(const float* b, const float* a, index_t n,
                                Vf (&acc)[Items][Vectors]) {
#if defined(__GNUC__)
#  pragma GCC unroll 1
#endif
  for (index_t r = 0; r < n; ++r, b += panel_width, a += strip_width) {
    Vf x[Vectors];
    ASHLAR_UNROLL
    for (int v = 0; v < Vectors; ++v) x[v] = pin(load(b + v * lanes));
    ASHLAR_UNROLL
    for (int i = 0; i < Items; ++i) {
      const Vf y = set1(a[i]);
      ASHLAR_UNROLL
      for (int v = 0; v < Vectors; ++v) acc[i][v] = fma(y, x[v], acc[i][v]);
    }
  }
}

/// s[i] = q . k_i for Items keys, and their running maximum.
template <int Items, int Vectors>
ASHLAR_NOINLINE void score_tile(const float* q, index_t width, const float* k, float* s,
                                Vf* maximum_so_far) {
  Vf acc[Items][Vectors];
  ASHLAR_UNROLL
  for (int i = 0; i < Items; ++i) {
    ASHLAR_UNROLL
    for (int v = 0; v < Vectors; ++v) acc[i][v] = set1(0.f);
  }
  add_products(q, k, width, acc);
  ASHLAR_UNROLL
  for (int v = 0; v < Vectors; ++v) {
    Vf m = maximum_so_far[v];
    ASHLAR_UNROLL
    for (int i = 0; i < Items; ++i) {
      store(s + i * panel_width + v * lanes, acc[i][v]);
      m = maximum(acc[i][v], m);
    }
    maximum_so_far[v] = m;
  }
}

/// o[i] = decay * o[i] + sum over keys of p * v[key][i] for Items columns; without decay only the
/// sum.
template <int Items, int Vectors>
ASHLAR_NOINLINE void value_tile(const float* p, index_t keys, const float* values, float* o,
                                const Vf* decay) {
  Vf acc[Items][Vectors];
  ASHLAR_UNROLL
  for (int i = 0; i < Items; ++i) {
    ASHLAR_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      acc[i][v] = load(o + i * panel_width + v * lanes);
      if (decay != nullptr) acc[i][v] = mul(decay[v], acc[i][v]);
    }
  }
  add_products(p, values, keys, acc);
  ASHLAR_UNROLL
  for (int i = 0; i < Items; ++i) {
    ASHLAR_UNROLL
    for (int v = 0; v < Vectors; ++v) store(o + i * panel_width + v * lanes, acc[i][v]);
  }
}

/// Calls f with std::integral_constant<int, n>, 1 <= n <= panel_vectors.
template <class F>
ASHLAR_INLINE void with_vectors(int n, const F& f) {
  if (n == panel_vectors) return f(std::integral_constant<int, panel_vectors>{});
  if constexpr (panel_vectors > 2)
    if (n == 2) return f(std::integral_constant<int, 2>{});
  f(std::integral_constant<int, 1>{});
}

/// Scores of keys [j, j + n) of a tile, n <= tile_items, for vectors [first, last) of a panel.
inline void scores(const float* q, index_t width, const Operand& k, index_t j, index_t n, int first,
                   int last, float* s, Vf* maximum_so_far) {
  q += first * lanes;
  s += j * panel_width + first * lanes;
  maximum_so_far += first;
  with_vectors(last - first, [&](auto vectors) {
    constexpr int V = vectors();
    if (n == tile_items) return score_tile<tile_items, V>(q, width, k.at(j), s, maximum_so_far);
    for (index_t i = 0; i < n; ++i)
      score_tile<1, V>(q, width, k.at(j + i), s + i * panel_width, maximum_so_far);
  });
}

/// o = decay * o + p v over keys [j0, j1) of a tile, for vectors [first, last) of a panel.
inline void values(const float* p, const Operand& v, index_t width, index_t j0, index_t j1,
                   int first, int last, float* o, const Vf* decay) {
  p += j0 * panel_width + first * lanes;
  o += first * lanes;
  with_vectors(last - first, [&](auto vectors) {
    constexpr int V = vectors();
    const index_t keys = j1 - j0, offset = j0 * strip_width;
    index_t d = 0;
    for (; d + tile_items <= width; d += tile_items)
      value_tile<tile_items, V>(p, keys, v.at(d) + offset, o + d * panel_width, decay);
    for (; d < width; ++d) value_tile<1, V>(p, keys, v.at(d) + offset, o + d * panel_width, decay);
  });
}

/// The same where V holds NaN or Inf in rows that some queries do not see: those have p < 0 there
/// and are selected away.
inline void values_selected(const float* p, const Operand& v, index_t width, index_t keys,
                            int vectors, float* o, const Vf* decay) {
  for (index_t d = 0; d < width; ++d)
    for (int i = 0; i < vectors; ++i) {
      float* y = o + d * panel_width + i * lanes;
      Vf a = decay != nullptr ? mul(decay[i], load(y)) : load(y);
      for (index_t j = 0; j < keys; ++j) {
        const Vf x = load(p + j * panel_width + i * lanes);
        a = select(less(x, set1(0.f)), a, fma(x, set1(v(d, j)), a));
      }
      store(y, a);
    }
}

/// Whether `keys` rows of V hold neither NaN nor Inf.
inline bool finite(const Operand& v, index_t width, index_t keys) {
  Vf sum = set1(0.f);
  float rest = 0.f;
  for (index_t s = 0; s < width; s += strip_width)
    for (index_t j = 0; j < keys; ++j) {
      const float* row = v.at(s) + j * strip_width;
      const index_t n = min_index(strip_width, width - s);
      index_t d = 0;
      for (; d + lanes <= n; d += lanes) sum = fma(load(row + d), set1(0.f), sum);
      for (; d < n; ++d) rest = std::fma(row[d], 0.f, rest);
    }
  float c[lanes];
  store(c, sum);
  for (float x : c) rest += x;
  return rest == 0.f;
}

/// s = 2^(s - base) in place.
ASHLAR_INLINE Vf weight(float* s, Vf base) {
  const Vf p = math::exp2_nonpositive(sub(load(s), base));
  store(s, p);
  return p;
}
/// The same for the 64 keys of a tile and one vector of queries; returns their folded sum.
ASHLAR_INLINE Vf weights(float* s, Vf base) {
  Vf t[16];
  for (index_t j = 0; j < 16; ++j, s += panel_width) {
    const Vf even = add(weight(s, base), weight(s + 32 * panel_width, base));
    const Vf odd = add(weight(s + 16 * panel_width, base), weight(s + 48 * panel_width, base));
    t[j] = add(even, odd);
  }
  ASHLAR_UNROLL
  for (int w = 8; w > 0; w /= 2) {
    ASHLAR_UNROLL
    for (int i = 0; i < w; ++i) t[i] = add(t[i], t[i + w]);
  }
  return t[0];
}

ASHLAR_INLINE Vf base_of(Vf m) { return maximum(m, set1(-FLT_MAX)); }

/// out[j][i] = in[i][j] for i < rows, j < columns.
inline void transpose(const float* in, index_t in_stride, index_t rows, index_t columns, float* out,
                      index_t out_stride) {
  const auto scalar = [&](index_t i0, index_t i1, index_t j0, index_t j1) {
    for (index_t i = i0; i < i1; ++i)
      for (index_t j = j0; j < j1; ++j) out[j * out_stride + i] = in[i * in_stride + j];
  };
  const index_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (index_t i = 0; i < whole_rows; i += 4)
    for (index_t j = 0; j < whole_columns; j += 4)
      transpose4(in + i * in_stride + j, in_stride, out + j * out_stride + i, out_stride);
  scalar(0, whole_rows, whole_columns, columns);
  scalar(whole_rows, rows, 0, columns);
}

/// Queries [n rows of `width`] times scale as a panel [width][panel_width]; lanes past n are 0.
inline void pack_queries(const float* q, index_t stride, index_t n, index_t width, float scale,
                         float* panel) {
  if (n < panel_width) std::fill(panel, panel + width * panel_width, 0.f);
  transpose(q, stride, n, width, panel, panel_width);
  for (float* p = panel; p != panel + width * panel_width; p += lanes)
    store(p, mul(load(p), set1(scale)));
}

/// out[i][d] = o[d][i] * scale[i] * factor[i] + 0 for n queries.
inline void unpack_outputs(float* o, index_t n, index_t width, const float* scale,
                           const float* factor, float* out, index_t stride) {
  for (index_t d = 0; d < width; ++d)
    for (int v = 0; v < panel_vectors; ++v) {
      float* y = o + d * panel_width + v * lanes;
      store(y, fma(mul(load(scale + v * lanes), load(y)), load(factor + v * lanes), set1(0.f)));
    }
  transpose(o, panel_width, width, n, out, stride);
}

}  // namespace ashlar::inline ASHLAR_ABI::simd
