// Where keys and values come from on the device: rows of a tensor, rows packed behind each other,
// or the pages of a cache.
#pragma once

#include <ashlar/cuda/cache_tensor.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Which rows of a tensor are sequence b's. In a padded batch each sequence has its own (no
/// `starts`). Packed, sequence b has rows starts[b] .. starts[b + 1] - 1 of one run of rows, and
/// the tensor's batch stride is 0. `starts` [B + 1] lies on the device.
struct RowRange {
  const std::int32_t* starts = nullptr;

  ASHLAR_HD constexpr index_t first(index_t b) const { return starts ? starts[b] : 0; }
  ASHLAR_HD constexpr index_t count(index_t b, index_t otherwise) const {
    return starts ? starts[b + 1] - starts[b] : otherwise;
  }
};

/// Keys [B, S, K, H] and values [B, S, K, Hv], or packed [B (stride 0), total, K, H], of elements
/// of T, or Q8_0.
template <class T>
struct KeyRows {
  using element_type = T;
  CacheTensor<T> k, v;
  RowRange rows{};

  ASHLAR_HD index_t batch() const { return k.extent(0); }
  ASHLAR_HD index_t max_length() const { return k.extent(1); }
  ASHLAR_HD index_t length(index_t b) const { return rows.count(b, k.extent(1)); }
  ASHLAR_HD index_t heads() const { return k.extent(2); }
  ASHLAR_HD index_t key_width() const { return k.extent(3); }
  ASHLAR_HD index_t value_width() const { return v.extent(3); }
  ASHLAR_HD auto key(index_t b, index_t head, index_t s) const {
    return cache_row(k, b, rows.first(b) + s, head);
  }
  ASHLAR_HD auto value(index_t b, index_t head, index_t s) const {
    return cache_row(v, b, rows.first(b) + s, head);
  }
};

/// A paged cache: key s of sequence b is row s mod P of page table[b, s / P], for pages of P rows,
/// a power of two. k [pages, P, K, H], v [pages, P, K, Hv]; the table [B, most pages of a sequence]
/// and the lengths [B] lie on the device, and entries past a sequence's last key are never read.
template <class T>
struct KeyPages {
  using element_type = T;
  CacheTensor<T> k, v;
  MatrixView<const std::int32_t> table;
  const index_t* lengths = nullptr;
  int log2_page = 0;

  ASHLAR_HD index_t batch() const { return table.extent(0); }
  ASHLAR_HD index_t max_length() const { return table.extent(1) << log2_page; }
  ASHLAR_HD index_t length(index_t b) const { return lengths ? lengths[b] : max_length(); }
  ASHLAR_HD index_t heads() const { return k.extent(2); }
  ASHLAR_HD index_t key_width() const { return k.extent(3); }
  ASHLAR_HD index_t value_width() const { return v.extent(3); }
  ASHLAR_HD auto key(index_t b, index_t head, index_t s) const {
    return cache_row(k, page(b, s), slot(s), head);
  }
  ASHLAR_HD auto value(index_t b, index_t head, index_t s) const {
    return cache_row(v, page(b, s), slot(s), head);
  }

 private:
  ASHLAR_HD index_t page(index_t b, index_t s) const { return table.row(b)[s >> log2_page]; }
  ASHLAR_HD index_t slot(index_t s) const { return s & ((index_t{1} << log2_page) - 1); }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
