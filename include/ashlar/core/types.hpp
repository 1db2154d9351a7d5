// Index type and integer helpers.
#pragma once

#include <ashlar/config.hpp>
#include <cstddef>
#include <cstdint>

namespace ashlar::inline ASHLAR_ABI {

/// Every extent, stride and offset, in elements. Signed and 64 bits wide: products of extents and
/// strides pass 2^31 in real models.
using index_t = std::ptrdiff_t;

ASHLAR_HD constexpr index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }
ASHLAR_HD constexpr index_t round_up(index_t a, index_t b) { return ceil_div(a, b) * b; }
ASHLAR_HD constexpr index_t min_index(index_t a, index_t b) { return b < a ? b : a; }
ASHLAR_HD constexpr index_t max_index(index_t a, index_t b) { return a < b ? b : a; }

}  // namespace ashlar::inline ASHLAR_ABI
