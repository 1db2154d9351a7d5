// One tile of 64 keys of any source, as f32.
#pragma once

#include <ashlar/kernels/simd/attention_tile.hpp>

namespace ashlar::inline ASHLAR_ABI::simd {

/// Keys and values as the kernels take them: a cache of E, or rows of floats. One type for both,
/// so that a kernel is compiled once.
template <class E>
struct KeySource {
  KvTiles<E> tiles;
  const KvRows<float>* rows = nullptr;

  index_t heads() const { return tiles.heads(); }
  index_t key_width() const { return tiles.key_width(); }
  index_t value_width() const { return tiles.value_width(); }
  index_t length(index_t b) const { return rows ? rows->length(b) : tiles.length(b); }
  /// Floats of a tile of 64 keys in strips.
  index_t tile_size() const {
    return key_tile * (key_width() + round_up(value_width(), strip_width));
  }
};
inline KeySource<float> key_source(const KvRows<float>& rows) {
  KeySource<float> source;
  source.rows = &rows;
  source.tiles.kv_heads = rows.heads();
  source.tiles.k_width = rows.key_width();
  source.tiles.v_width = rows.value_width();
  return source;
}
template <class E>
requires std::same_as<E, float> || std::same_as<E, half> || std::same_as<E, bfloat16> KeySource<E>
key_source(const KvTiles<E>& tiles) {
  return {tiles};
}

/// Whether the SIMD kernels read a source.
template <class Source>
concept HasKeySource = requires(const Source& kv) {
  key_source(kv);
};

struct KeyTile {
  Operand k, v;
};

/// Floats of scratch that key_tile_of needs.
template <class E>
index_t key_tile_scratch(const KeySource<E>& kv) {
  return std::is_same_v<E, float> && kv.rows == nullptr ? 0 : kv.tile_size();
}

/// Row r of a strip, vector c of it, as f32; Odd is the parity of r, as bfloat16 rows come in
/// pairs.
template <bool Odd, class E>
ASHLAR_INLINE Vf strip_row(const E* strip, index_t r, int c) {
  if constexpr (KvTiles<E>::paired) {
    const Vi pair =
        load(reinterpret_cast<const std::int32_t*>(strip + (r - Odd) * strip_width) + c * lanes);
    return as_float(Odd ? bit_and(pair, set1(std::int32_t{-65536})) : shift_left(pair, 16));
  } else {
    return load(strip + r * strip_width + c * lanes);
  }
}

/// `rows` rows of each of `strips` strips that are `stored` rows long, as f32 strips of `rows`
/// rows.
template <class E>
void widen(const E* strip, index_t strips, index_t stored, index_t rows, float* out) {
  for (index_t s = 0; s < strips; ++s, strip += stored * strip_width)
    for (index_t r = 0; r < rows; ++r, out += strip_width)
      for (int c = 0; c < strip_width / lanes; ++c)
        store(out + c * lanes,
              r % 2 == 0 ? strip_row<false>(strip, r, c) : strip_row<true>(strip, r, c));
}

/// A tile in strips; its K strips have k_rows rows.
template <class E>
struct StripTile {
  const E *k, *v;
  index_t k_rows;
};

/// Packs a tile of rows into scratch, zeros for keys that K lacks. Heads of one token lie between
/// the rows of a head, often a power of two apart: used in place, 64 such rows fall into a few sets
/// of the first-level cache.
inline StripTile<float> packed_strips(const KvRows<float>& kv, index_t b, index_t head,
                                      index_t tile, index_t count, float* scratch) {
  using Tiles = KvTiles<float>;
  const index_t H = kv.key_width(), Hv = kv.value_width(), first = tile * key_tile;
  const auto row = [&](const TensorView<const float, 4>& x, index_t j) {
    return x.data() + b * x.stride(0) + (first + j) * x.stride(1) + head * x.stride(2);
  };
  float *k = scratch, *v = k + key_tile * H;
  for (index_t j = 0; j < key_tile; j += strip_width) {
    const index_t n = max_index(0, min_index(count - j, strip_width));
    float* strip = k + Tiles::offset(H, 0, j);
    if (n < strip_width) std::fill_n(strip, H * strip_width, 0.f);
    if (n > 0) transpose(row(kv.k, j), kv.k.stride(1), n, H, strip, strip_width);
  }
  for (index_t d = 0; d < Hv; d += strip_width) {
    const index_t n = min_index(Hv - d, strip_width);
    float* out = v + Tiles::offset(key_tile, 0, d);
    for (index_t j = 0; j < count; ++j, out += strip_width) {
      const float* in = row(kv.v, j) + d;
      if (n == strip_width) {
        for (int i = 0; i < strip_width; i += lanes) store(out + i, load(in + i));
      } else {
        std::copy_n(in, n, out);
        std::fill(out + n, out + strip_width, 0.f);
      }
    }
  }
  return {k, v, H};
}

inline KeyTile key_tile_of(const StripTile<float>& strips) {
  return {{strips.k, strips.k_rows * strip_width}, {strips.v, key_tile * strip_width}};
}
template <class E>
KeyTile key_tile_of(const KeySource<E>& source, index_t b, index_t head, index_t tile,
                    index_t count, float* scratch) {
  const KvTiles<E>& kv = source.tiles;
  const index_t H = kv.key_width();
  if constexpr (std::is_same_v<E, float>) {
    if (source.rows) return key_tile_of(packed_strips(*source.rows, b, head, tile, count, scratch));
    return key_tile_of(StripTile<float>{kv.k_tile(b, head, tile), kv.v_tile(b, head, tile), H});
  } else {
    float* values = scratch + H * key_tile;
    widen(kv.k_tile(b, head, tile), ceil_div(count, strip_width), KvTiles<E>::k_rows(H), H,
          scratch);
    widen(kv.v_tile(b, head, tile), ceil_div(kv.value_width(), strip_width), key_tile, key_tile,
          values);
    return key_tile_of(StripTile<float>{scratch, values, H});
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::simd
