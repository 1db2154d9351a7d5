// BlockMask: which blocks of queries see which blocks of keys, as a table of bits.
#pragma once

#include <ashlar/attention/mask/bit_table.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// A query at position q sees the key at k where bit (q / query_block, k / key_block) of `blocks`
/// is set; positions that the table does not reach are hidden. Tiles are classified exactly, so
/// that kernels read visible blocks only. Its default hides everything. The table stays the
/// caller's. Source: Child et al. 2019, Sparse Transformers; Zaheer et al. 2020, BigBird.
/// Shapes   blocks [queries / query_block, keys / key_block], both rounded up
class BlockMask {
 public:
  constexpr BlockMask() = default;
  /// Throws ValueError unless blocks are at least 1 and the table covers less than 2^31 positions.
  BlockMask(const BitTable& blocks, index_t query_block, index_t key_block) : blocks_(blocks) {
    constexpr index_t most = (index_t{1} << 31) - 1;
    if (query_block < 1 || query_block > most || key_block < 1 || key_block > most)
      fail<ValueError>("BlockMask: blocks of ", query_block, " queries and ", key_block,
                       " keys, expected 1 to 2^31 - 1");
    if (blocks.rows > most / query_block || blocks.columns > most / key_block)
      fail<ValueError>("BlockMask: ", blocks.rows, " x ", blocks.columns, " blocks of ",
                       query_block, " queries and ", key_block,
                       " keys, expected less than 2^31 positions");
    query_block_ = static_cast<Count>(query_block);
    key_block_ = static_cast<Count>(key_block);
    queries_ = blocks.rows * query_block_;
    keys_ = blocks.columns * key_block_;
  }

  ASHLAR_HD bool keep(index_t b, index_t h, index_t q, index_t k) const {
    return q >= 0 && q < queries_ && k < keys_ &&
           blocks_.bit(b, h, static_cast<Count>(q) / query_block_,
                       static_cast<Count>(k) / key_block_);
  }
  ASHLAR_HD TileKind classify(index_t b, index_t h, index_t q0, index_t q1, index_t k0,
                              index_t k1) const {
    return detail::classify_known(
        queries_, keys_, q0, q1, k0, k1, [&](Count a0, Count a1, Count c0, Count c1) {
          return blocks_.kind(b, h, a0 / query_block_, (a1 - 1) / query_block_ + 1, c0 / key_block_,
                              (c1 - 1) / key_block_ + 1);
        });
  }

 private:
  using Count = BitTable::Count;

  BitTable blocks_;
  Count query_block_ = 1, key_block_ = 1, queries_ = 0, keys_ = 0;
};
static_assert(MaskPolicy<BlockMask>);

/// The table of the blocks in which `mask` shows anything, for queries and keys at positions 0 ..
/// n - 1. `BlockMask(..) & mask` then sees what `mask` sees, and skips every block that it hides:
/// for masks whose own classify() cannot tell. A batch or heads of 1 serve all of them.
/// Cost     a keep() for each pair at most
/// Throws   ShapeError, ValueError
template <MaskPolicy Mask>
BitRows visible_blocks(const Mask& mask, index_t batch, index_t heads, index_t queries,
                       index_t keys, index_t query_block, index_t key_block) {
  if (query_block < 1 || key_block < 1)
    fail<ValueError>("visible_blocks: blocks of ", query_block, " queries and ", key_block,
                     " keys, expected at least 1");
  BitRows blocks(batch, heads, ceil_div(queries, query_block), ceil_div(keys, key_block));
  const auto shows = [&](index_t b, index_t h, index_t q0, index_t k0) {
    const index_t q1 = min_index(q0 + query_block, queries), k1 = min_index(k0 + key_block, keys);
    const TileKind kind = mask.classify(b, h, q0, q1, k0, k1);
    if (kind != TileKind::partial) return kind == TileKind::full;
    for (index_t q = q0; q < q1; ++q)
      for (index_t k = k0; k < k1; ++k)
        if (mask.keep(b, h, q, k)) return true;
    return false;
  };
  for (index_t b = 0; b < batch; ++b)
    for (index_t h = 0; h < heads; ++h)
      for (index_t q = 0; q < queries; q += query_block)
        for (index_t k = 0; k < keys; k += key_block)
          if (shows(b, h, q, k)) blocks.set(b, h, q / query_block, k / key_block);
  return blocks;
}

}  // namespace ashlar::inline ASHLAR_ABI
