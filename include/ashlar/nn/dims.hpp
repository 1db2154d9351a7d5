// Dims: the widths of one block.
#pragma once

#include <ashlar/core/types.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Plain numbers, so that layers of one model may differ in them.
struct Dims {
  index_t d_model = 0;     // D
  index_t n_heads = 0;     // N query heads
  index_t n_kv_heads = 0;  // K key and value heads
  index_t head_dim = 0;    // H of queries and keys
  index_t value_dim = 0;   // of values; 0 means head_dim
  index_t d_ff = 0;        // F, the hidden width of the feed-forward

  constexpr index_t values() const { return value_dim ? value_dim : head_dim; }
};

}  // namespace ashlar::inline ASHLAR_ABI
