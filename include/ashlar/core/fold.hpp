// Sums of a row in an order that every vector width shares: 64 chains, folded by halves.
#pragma once

#include <ashlar/core/types.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

/// Chain i sums the elements i, i + 64, i + 128, ..
inline constexpr index_t sum_chains = 64;

/// c[i] += c[i + w] for w = 32, 16, .., 1; returns c[0].
template <class A>
ASHLAR_HD constexpr A fold(A (&c)[sum_chains]) {
  for (index_t w = sum_chains / 2; w > 0; w /= 2)
    for (index_t i = 0; i < w; ++i) c[i] = c[i] + c[i + w];
  return c[0];
}
/// Sum of f(0) .. f(n - 1).
template <class A, class F>
A chained_sum(index_t n, F f) {
  A c[sum_chains] = {};
  for (index_t i = 0; i < n; ++i) c[i % sum_chains] = c[i % sum_chains] + f(i);
  return fold(c);
}
/// Sum of f(0)^2 .. f(n - 1)^2.
template <class A, class F>
A chained_square_sum(index_t n, F f) {
  A c[sum_chains] = {};
  for (index_t i = 0; i < n; ++i) {
    const A x = f(i);
    c[i % sum_chains] = std::fma(x, x, c[i % sum_chains]);
  }
  return fold(c);
}

}  // namespace ashlar::inline ASHLAR_ABI
