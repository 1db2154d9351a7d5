// Walks along rows of floats: whole vectors, then what is left; rows spread over threads.
#pragma once

#include <ashlar/backend/host_context.hpp>
#include <ashlar/core/fold.hpp>
#include <ashlar/kernels/simd/vec_math.hpp>

namespace ashlar::inline ASHLAR_ABI::simd {

/// The lanes of a vector that lie inside of a row: all of them ..
struct WholeVector {
  ASHLAR_INLINE Vf load(const float* p) const { return simd::load(p); }
  ASHLAR_INLINE void store(float* p, Vf v) const { simd::store(p, v); }
  /// v, with zeros outside of the row.
  ASHLAR_INLINE Vf keep(Vf v) const { return v; }
};
/// .. or the first n at its end. Lanes outside are neither read nor written and hold zeros.
struct RowEnd {
  int n;
  ASHLAR_INLINE Vf load(const float* p) const { return load_first(p, n); }
  ASHLAR_INLINE void store(float* p, Vf v) const { store_first(p, n, v); }
  ASHLAR_INLINE Vf keep(Vf v) const { return keep_first(v, n); }
};

/// f(part, i) for every vector of a row of n elements, i its first element.
template <class F>
ASHLAR_INLINE void for_each_vector(index_t n, const F& f) {
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) f(WholeVector{}, i);
  if (i < n) f(RowEnd{static_cast<int>(n - i)}, i);
}

/// Sum over a row in the order of core/fold.hpp. f(part, i, c) adds a vector of elements to its
/// chains c; outside of the row it must add zeros.
template <class F>
ASHLAR_INLINE float sum_row(index_t n, const F& f) {
  constexpr int vectors = static_cast<int>(sum_chains) / lanes;
  Vf c[vectors];
  ASHLAR_UNROLL
  for (int v = 0; v < vectors; ++v) c[v] = set1(0.f);
  index_t i = 0;
  for (; i + sum_chains <= n; i += sum_chains) {
    ASHLAR_UNROLL
    for (int v = 0; v < vectors; ++v) c[v] = f(WholeVector{}, i + v * lanes, c[v]);
  }
  ASHLAR_UNROLL
  for (int v = 0; v < vectors; ++v, i += lanes) {
    if (i + lanes <= n) {
      c[v] = f(WholeVector{}, i, c[v]);
    } else if (i < n) {
      c[v] = f(RowEnd{static_cast<int>(n - i)}, i, c[v]);
    }
  }
  return fold(c);
}

/// f(m, worker) for every row. A task is a block of rows of some ten thousand elements: below that
/// handing it to a thread costs more than the work.
template <class F>
void for_each_row(HostContext& ctx, index_t rows, index_t columns, const F& f) {
  const index_t block = ceil_div(16384, max_index(columns, 1));
  parallel_for(ctx.executor(), ceil_div(rows, block), [&](index_t b, int worker) {
    const index_t end = min_index(rows, (b + 1) * block);
    for (index_t m = b * block; m < end; ++m) f(m, worker);
  });
}

}  // namespace ashlar::inline ASHLAR_ABI::simd
