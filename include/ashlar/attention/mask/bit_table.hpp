// Rows of bits that a mask looks into: a table for each head of each sequence, or one for several.
#pragma once

#include <ashlar/attention/tile_kind.hpp>
#include <ashlar/core/error.hpp>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// A view of tables of rows x columns bits: bit c of a row is bit c mod 32 of its word c / 32.
/// Strides count words; one of 0 says that all heads or sequences share a table. Where the words
/// lie, in the memory of a device or of the host, is where the table can be asked.
struct BitTable {
  using Count = std::int32_t;  // registers are what kernels are short of

  const std::uint32_t* words = nullptr;
  Count rows = 0, columns = 0;
  index_t row_stride = 0, head_stride = 0, batch_stride = 0;

  ASHLAR_HD const std::uint32_t* row(index_t b, index_t h, Count r) const {
    return words + b * batch_stride + h * head_stride + r * row_stride;
  }
  ASHLAR_HD bool bit(index_t b, index_t h, Count r, Count c) const {
    return (row(b, h, r)[c >> 5] >> (c & 31) & 1u) != 0;
  }
  /// Of the bits in rows r0 .. r1 - 1 and columns c0 .. c1 - 1: full when all are set, skip when
  /// none is. Reads until it has seen one of each.
  ASHLAR_HD TileKind kind(index_t b, index_t h, Count r0, Count r1, Count c0, Count c1) const {
    bool some_set = false, some_clear = false;
    for (Count r = r0; r < r1; ++r) {
      const std::uint32_t* x = row(b, h, r);
      for (Count word = c0 >> 5; 32 * word < c1; ++word) {
        const Count first = c0 - 32 * word, past = 32 * word + 32 - c1;
        const std::uint32_t asked =
            (~0u << (first > 0 ? first : 0)) & (~0u >> (past > 0 ? past : 0));
        const std::uint32_t set = x[word] & asked;
        some_set = some_set || set != 0;
        some_clear = some_clear || set != asked;
        if (some_set && some_clear) return TileKind::partial;
      }
    }
    return some_set ? TileKind::full : TileKind::skip;
  }
};

/// The words of a BitTable on the host. A batch or a number of heads of 1 serves all of them.
class BitRows {
 public:
  BitRows() = default;
  /// All bits clear. Throws ShapeError unless all extents are at least 1, and a table's below 2^30.
  BitRows(index_t batch, index_t heads, index_t rows, index_t columns) {
    if (batch < 1 || heads < 1 || rows < 1 || columns < 1)
      fail<ShapeError>("BitRows: extents are ", batch, " x ", heads, " x ", rows, " x ", columns,
                       ", expected at least 1 each");
    constexpr index_t most = index_t{1} << 30;
    if (rows >= most || columns >= most)
      fail<ShapeError>("BitRows: a table of ", rows, " x ", columns, " bits, expected below 2^30");
    shape_.rows = static_cast<BitTable::Count>(rows);
    shape_.columns = static_cast<BitTable::Count>(columns);
    shape_.row_stride = ceil_div(columns, 32);
    shape_.head_stride = heads == 1 ? 0 : rows * shape_.row_stride;
    shape_.batch_stride = batch == 1 ? 0 : heads * rows * shape_.row_stride;
    words_.resize(static_cast<std::size_t>(batch * heads * rows * shape_.row_stride));
  }
  void set(index_t b, index_t h, index_t r, index_t c) {
    const index_t row = b * shape_.batch_stride + h * shape_.head_stride + r * shape_.row_stride;
    words_[static_cast<std::size_t>(row + (c >> 5))] |= 1u << (c & 31);
  }
  /// What to copy to another memory; `table` then takes the address there.
  const std::vector<std::uint32_t>& words() const { return words_; }
  BitTable table() const { return table(words_.data()); }
  BitTable table(const std::uint32_t* words) const {
    BitTable t = shape_;
    t.words = words;
    return t;
  }

 private:
  BitTable shape_;
  std::vector<std::uint32_t> words_;
};

namespace detail {
/// classify() of a mask that knows `queries` x `keys` positions and hides all others: f(q0, q1, k0,
/// k1) is asked about what it knows of the rectangle.
template <class F>
ASHLAR_HD TileKind classify_known(BitTable::Count queries, BitTable::Count keys, index_t q0,
                                  index_t q1, index_t k0, index_t k1, F f) {
  using Count = BitTable::Count;
  if (q1 <= 0 || q0 >= queries || k0 >= keys) return TileKind::skip;
  const bool whole = q0 >= 0 && q1 <= queries && k1 <= keys;
  const TileKind kind =
      f(static_cast<Count>(max_index(q0, 0)), static_cast<Count>(min_index(q1, queries)),
        static_cast<Count>(k0), static_cast<Count>(min_index(k1, keys)));
  return kind == TileKind::full && !whole ? TileKind::partial : kind;
}
}  // namespace detail

}  // namespace ashlar::inline ASHLAR_ABI
