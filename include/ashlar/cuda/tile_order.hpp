// In which order the blocks of a persistent kernel take tiles of queries.
#pragma once

#include <ashlar/core/types.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Tiles of all heads, 0 .. count() - 1; block i of n takes i, i + n, i + 2 n, .. Heads come in
/// sections, whose keys and values stay in L2 together; in a section the last tiles of queries,
/// which see most under a causal mask, come first.
struct TileOrder {
  int tiles = 0;    // of a head
  int heads = 0;    // of all sequences, those that share keys beside each other
  int section = 1;  // heads of a section

  struct Tile {
    int head, index;
  };
  ASHLAR_HD constexpr int count() const { return tiles * heads; }
  ASHLAR_HD constexpr Tile at(int i) const {
    const int first = i / (section * tiles) * section, rest = i - first * tiles;
    const int size = heads - first < section ? heads - first : section;
    return {first + rest % size, tiles - 1 - rest / size};
  }
};

/// Bytes of keys and values that a section may have: part of the 50 MiB of an H100's or H200's L2.
inline constexpr index_t section_bytes = index_t{32} << 20;

/// The order for heads of `tiles` tiles each, `sharing` of which have the same `bytes` of keys and
/// values. There are fewer than 2^31 tiles.
constexpr TileOrder tile_order(index_t tiles, index_t heads, index_t sharing, index_t bytes) {
  const index_t fit = max_index(1, section_bytes / max_index(1, bytes)) * sharing;
  return {static_cast<int>(tiles), static_cast<int>(heads),
          static_cast<int>(max_index(1, min_index(fit, heads)))};
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
