// One tile of 64 keys of any source, as f32.
#pragma once

#include <ashlar/kernels/simd/attention_tile.hpp>

namespace ashlar::inline ASHLAR_ABI::simd {

/// The sources that the SIMD kernels read.
template <class Source>
inline constexpr bool is_key_source = false;
template <>
inline constexpr bool is_key_source<KvRows<float>> = true;
template <>
inline constexpr bool is_key_source<KvTiles<float>> = true;
template <>
inline constexpr bool is_key_source<KvTiles<half>> = true;
template <>
inline constexpr bool is_key_source<KvTiles<bfloat16>> = true;

struct KeyTile {
  Operand k, v;
};

/// Floats of scratch that key_tile_of needs.
template <class Source>
index_t key_tile_scratch(const Source& kv) {
  if constexpr (std::is_same_v<typename Source::element_type, float>)
    return 0;
  else
    return key_tile * (kv.key_width() + round_up(kv.value_width(), strip_width));
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

inline KeyTile key_tile_of(const KvRows<float>& kv, index_t b, index_t head, index_t tile,
                           index_t /*count*/, float* /*scratch*/) {
  const index_t ks = kv.k.stride(1), vs = kv.v.stride(1), first = tile * key_tile;
  return {
      {kv.k.data() + b * kv.k.stride(0) + first * ks + head * kv.k.stride(2), ks, 1,
       strip_width * ks},
      {kv.v.data() + b * kv.v.stride(0) + first * vs + head * kv.v.stride(2), 1, vs, strip_width}};
}
template <class E>
KeyTile key_tile_of(const KvTiles<E>& kv, index_t b, index_t head, index_t tile, index_t count,
                    float* scratch) {
  const index_t H = kv.key_width(), strips = ceil_div(kv.value_width(), strip_width);
  const E *k = kv.k_tile(b, head, tile), *v = kv.v_tile(b, head, tile);
  const auto operands = [&](const float* keys, const float* values) {
    return KeyTile{{keys, 1, strip_width, H * strip_width},
                   {values, 1, strip_width, key_tile * strip_width}};
  };
  if constexpr (std::is_same_v<E, float>) {
    return operands(k, v);
  } else {
    float* values = scratch + H * key_tile;
    widen(k, ceil_div(count, strip_width), KvTiles<E>::k_rows(H), H, scratch);
    widen(v, strips, key_tile, key_tile, values);
    return operands(scratch, values);
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::simd
