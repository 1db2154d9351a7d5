// The rows of a decoding block, and the steps of its warps through the keys.
#pragma once

#include <ashlar/attention/tile_kind.hpp>
#include <ashlar/core/types.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// The queries of the heads that share a key head: query t of head h is row t G + (h - first_head)
/// of their `queries` G rows, and a block has those from `first` on.
template <int Most>
struct PackedRows {
  static constexpr int rows = Most;
  index_t first_head, group, first, queries;

  ASHLAR_DEVICE index_t count() const { return min_index(queries * group - first, rows); }
  ASHLAR_DEVICE index_t head(int row) const { return first_head + (first + row) % group; }
  ASHLAR_DEVICE index_t query(int row) const { return (first + row) / group; }
};

/// A warp's steps of `Keys` keys each through keys begin .. end - 1, between which those of the
/// block's other warps lie.
template <class Mask, class Packed, int Warps, int Keys>
struct DecodeSteps {
  const Mask& mask;
  const Packed& packed;
  index_t b, begin, end, q_offset;
  int lane;

  ASHLAR_DEVICE index_t first_key(int step) const { return begin + index_t{step} * Warps * Keys; }
  ASHLAR_DEVICE int count() const {
    return begin < end ? static_cast<int>(ceil_div(end - begin, Warps * Keys)) : 0;
  }
  /// What the mask says of all rows: each lane asks for one.
  template <class P>
  ASHLAR_DEVICE TileKind kind(int step) const {
    const index_t k0 = first_key(step), k1 = min_index(k0 + Keys, end);
    const int row = lane % Packed::rows;
    const bool exists = row < packed.count();
    TileKind own = TileKind::skip;
    if (exists) {
      const index_t position = q_offset + packed.query(row);
      own = mask.classify(b, packed.head(row), position, position + 1, k0, k1);
    }
    if (P::ballot(own != TileKind::skip) == 0) return TileKind::skip;
    return P::ballot(exists && own != TileKind::full) == 0 ? TileKind::full : TileKind::partial;
  }
  template <class P>
  ASHLAR_DEVICE int visible_from(int step) const {
    while (step < count() && kind<P>(step) == TileKind::skip) ++step;
    return step;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
