// The order in which n items are sorted.
#pragma once

#include <algorithm>
#include <ashlar/config.hpp>
#include <cstddef>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {
namespace detail {
/// less(context, a, b): whether item a comes before item b. One sort for all kinds of items: a
/// program compiles it once.
inline void sort_positions(std::vector<std::size_t>& order, const void* context,
                           bool (*less)(const void*, std::size_t, std::size_t)) {
  std::sort(order.begin(), order.end(),
            [=](std::size_t a, std::size_t b) { return less(context, a, b); });
}
}  // namespace detail

/// Positions 0 .. n - 1, sorted by less(a, b).
template <class Less>
std::vector<std::size_t> sorted_order(std::size_t n, const Less& less) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  detail::sort_positions(order, &less, [](const void* context, std::size_t a, std::size_t b) {
    return (*static_cast<const Less*>(context))(a, b);
  });
  return order;
}

}  // namespace ashlar::inline ASHLAR_ABI
