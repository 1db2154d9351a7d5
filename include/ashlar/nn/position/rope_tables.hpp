// RopeTables: cosines and sines of a call's positions, formed once for all layers that share a
// rule.
#pragma once

#include <algorithm>
#include <ashlar/core/buffer.hpp>
#include <ashlar/ops/rope_rule.hpp>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// A table a rule and element type, kept for the length of one call.
class RopeTables {
 public:
  /// Tokens that the sequences were made for, 0 where nobody knows.
  void set_capacity(index_t capacity) {
    capacity_ = capacity;
    start();
  }
  /// Forgets the tables (not their memory): positions have changed.
  void start() {
    for (Entry& e : entries_) e.filled = false;
  }

  /// [M, 2, r / 2] for the given positions; A is float or double.
  template <class A>
  TensorView<const A, 3> get(const RopeRule& rule, VectorView<const index_t> positions) {
    Entry& e = entry(rule, sizeof(A));
    const index_t rows = positions.extent(0), pairs = rule.width / 2;
    const index_t bytes = rows * 2 * pairs * static_cast<index_t>(sizeof(A));
    if (e.data.size() < bytes) e.data = Buffer<std::byte>(bytes);
    const TensorView<A, 3> table(reinterpret_cast<A*>(e.data.data()), {rows, 2, pairs});
    if (!e.filled) {
      if (rule.depends_on_length())
        e.frequencies = rule.frequencies(rule.length_of(length(positions), capacity_));
      rope_table(e.frequencies, positions, table);
    }
    e.filled = true;
    return table;
  }

 private:
  struct Entry {
    RopeRule rule;
    std::size_t element_size;
    RopeFrequencies frequencies;
    Buffer<std::byte> data{};
    bool filled = false;
  };
  Entry& entry(const RopeRule& rule, std::size_t element_size) {
    for (Entry& e : entries_)
      if (e.rule == rule && e.element_size == element_size) return e;
    entries_.push_back({rule, element_size, rule.frequencies()});
    return entries_.back();
  }
  static index_t length(VectorView<const index_t> positions) {
    index_t last = -1;
    for (index_t m = 0; m < positions.extent(0); ++m) last = max_index(last, positions(m));
    return last + 1;
  }

  index_t capacity_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace ashlar::inline ASHLAR_ABI
