// Where keys and values come from: plain views, or a cache in tiles of 64 keys.
#pragma once

#include <ashlar/core/view.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Tiles of 64 keys and spans of 256 keys lie on a fixed grid of absolute positions. Both are part
/// of the results' format (docs/contracts.md, V15).
inline constexpr index_t key_tile = 64;
inline constexpr index_t key_span = 256;
/// Tiles are stored in strips of 32 columns.
inline constexpr index_t strip_width = 32;

/// Keys [B, S, K, H] and values [B, S, K, Hv] as plain views; key j of a sequence is at position j.
template <class T>
struct KvRows {
  using element_type = T;
  TensorView<const T, 4> k, v;

  ASHLAR_HD index_t batch() const { return k.extent(0); }
  ASHLAR_HD index_t max_length() const { return k.extent(1); }
  ASHLAR_HD index_t length(index_t) const { return k.extent(1); }
  ASHLAR_HD index_t heads() const { return k.extent(2); }
  ASHLAR_HD index_t key_width() const { return k.extent(3); }
  ASHLAR_HD index_t value_width() const { return v.extent(3); }
  ASHLAR_HD T key(index_t b, index_t head, index_t s, index_t h) const { return k(b, s, head, h); }
  ASHLAR_HD T value(index_t b, index_t head, index_t s, index_t d) const {
    return v(b, s, head, d);
  }
};

/// A cache in tiles of 64 keys. K is transposed: 2 strips of [H][32 keys]; V: ceil(Hv / 32) strips
/// of [64 keys][32]. For bfloat16 the index that kernels sum over goes in pairs, K [H/2][32][2] and
/// V [32][32][2], so that a 32-bit lane holds two of them. Neither prefill nor decode packs
/// anything, and a page of a paged cache is a tile.
template <class E>
struct KvTiles {
  using element_type = E;
  static constexpr bool paired = std::is_same_v<E, bfloat16>;

  E* k_data = nullptr;
  E* v_data = nullptr;
  const index_t* lengths = nullptr;  // [B]
  index_t batches = 0, tiles = 0;    // tiles a sequence and head
  index_t kv_heads = 0, k_width = 0, v_width = 0;
  index_t longest = 0;  // of lengths

  ASHLAR_HD index_t batch() const { return batches; }
  ASHLAR_HD index_t max_length() const { return longest; }
  ASHLAR_HD index_t length(index_t b) const { return lengths[b]; }
  ASHLAR_HD index_t heads() const { return kv_heads; }
  ASHLAR_HD index_t key_width() const { return k_width; }
  ASHLAR_HD index_t value_width() const { return v_width; }

  /// Rows of a K strip: H, even for bfloat16.
  ASHLAR_HD static constexpr index_t k_rows(index_t width) {
    return paired ? round_up(width, 2) : width;
  }
  ASHLAR_HD static constexpr index_t k_tile_size(index_t width) { return k_rows(width) * key_tile; }
  ASHLAR_HD static constexpr index_t v_tile_size(index_t width) {
    return round_up(width, strip_width) * key_tile;
  }
  /// Element (row r, column c) of a tile whose strips have `rows` rows; kernels sum over r.
  ASHLAR_HD static constexpr index_t offset(index_t rows, index_t r, index_t c) {
    const index_t strip = c / strip_width * rows * strip_width, column = c % strip_width;
    if constexpr (paired)
      return strip + r / 2 * 2 * strip_width + column * 2 + r % 2;
    else
      return strip + r * strip_width + column;
  }

  ASHLAR_HD E* k_tile(index_t b, index_t head, index_t tile) const {
    return k_data + ((b * kv_heads + head) * tiles + tile) * k_tile_size(k_width);
  }
  ASHLAR_HD E* v_tile(index_t b, index_t head, index_t tile) const {
    return v_data + ((b * kv_heads + head) * tiles + tile) * v_tile_size(v_width);
  }
  ASHLAR_HD E& key(index_t b, index_t head, index_t s, index_t h) const {
    return k_tile(b, head, s / key_tile)[offset(k_rows(k_width), h, s % key_tile)];
  }
  ASHLAR_HD E& value(index_t b, index_t head, index_t s, index_t d) const {
    return v_tile(b, head, s / key_tile)[offset(key_tile, s % key_tile, d)];
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
