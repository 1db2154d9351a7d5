// Rotary positions on queries and keys, and the new keys and values into the cache, in one pass.
#pragma once

#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/key_source.hpp>
#include <ashlar/cuda/row_access.hpp>
#include <ashlar/ops/rope.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// q [B, T, N, H], k [B, T, K, H], v [B, T, K, Hv], or packed with a batch stride of 0 and
/// `queries`. `table` [rows, 2, r / 2] is that of rope_table, with a row for each token of the
/// batch in order; r = 0 rotates nothing. Token t of sequence b becomes key lengths[b] + t of the
/// cache, which is a source that attention reads, in memory that this kernel writes; the caller
/// sees to it that there is room. `lengths` [B] lies on the device; none: the cache is empty.
template <class T, class Cache>
struct RopeAppendArguments {
  TensorView<T, 4> q, k;
  TensorView<const T, 4> v;
  TensorView<const float, 3> table;
  Cache cache;
  const index_t* lengths = nullptr;
  RowRange queries{};
  index_t most_tokens = 0;  // of a sequence
};

/// The pairs of the first r elements of every head of q and k turn in place: (a, b) becomes
/// (fma(a, c, -(b s)), fma(b, c, a s)). Keys and values are then rounded once, to the type of the
/// cache. A block takes a token.
template <class T, class Cache, RopePairing Pairing>
struct RopeAppend {
  using Arguments = RopeAppendArguments<T, Cache>;
  using E = typename Cache::element_type;
  static constexpr int needs_architecture = 0;
  static constexpr int threads = 128, blocks_per_multiprocessor = 8;
  static constexpr int N = piece<T>;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) { return {a.most_tokens, 1, a.q.extent(0)}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t b = P::block_z(), t = P::block_x();
    if (t >= a.queries.count(b, a.most_tokens)) return;
    const Token<P> token{a, a.queries.first(b) + t, b, (a.lengths ? a.lengths[b] : 0) + t};
    token.turn(a.q, [](index_t) { return static_cast<E*>(nullptr); });
    // What lies in the cache is const to those that read it.
    token.turn(a.k, [&](index_t h) { return const_cast<E*>(a.cache.key(b, h, token.slot)); });
    token.copy(a.v, 0, [&](index_t h) { return const_cast<E*>(a.cache.value(b, h, token.slot)); });
    token.copy(a.k, 2 * a.table.extent(2),
               [&](index_t h) { return const_cast<E*>(a.cache.key(b, h, token.slot)); });
  }

 private:
  template <class P>
  struct Token {
    const Arguments& a;
    index_t row, b, slot;

    template <class V>
    ASHLAR_DEVICE auto* head(const V& x, index_t h) const {
      return x.data() + b * x.stride(0) + row * x.stride(1) + h * x.stride(2);
    }
    /// The row of the table: sequences stand behind each other in it.
    ASHLAR_DEVICE const float* angles() const {
      const index_t m = a.queries.starts ? row : b * a.most_tokens + row;
      return a.table.data() + m * a.table.stride(0);
    }

    /// Turns every head of x in place, and leaves the turned elements where to_of(head) points too.
    template <class V, class ToOf>
    ASHLAR_DEVICE void turn(const V& x, ToOf to_of) const {
      const index_t pairs = a.table.extent(2), width = 2 * pairs;
      const float *cosines = angles(), *sines = cosines + a.table.stride(1);
      // A step takes N pairs of two pieces, or the N / 2 pairs of one.
      constexpr int step = Pairing == RopePairing::half_split ? N : N / 2;
      const auto steps = static_cast<std::uint32_t>(ceil_div(pairs, step));
      const auto all = static_cast<std::uint32_t>(x.extent(2)) * steps;
      for (auto i = static_cast<std::uint32_t>(P::thread()); i < all; i += threads) {
        const index_t h = i / steps, first = index_t{i % steps} * step;
        T* from = head(x, h);
        E* to = to_of(h);
        if constexpr (Pairing == RopePairing::half_split) {
          float c[N], s[N], u[N], v[N];
          load_channels<P>(cosines, first, pairs, c);
          load_channels<P>(sines, first, pairs, s);
          to_floats<P, T>(load_piece<P>(from, first, pairs), u);
          to_floats<P, T>(load_piece<P>(from + pairs, first, pairs), v);
          ASHLAR_DEVICE_UNROLL
          for (int e = 0; e < N; ++e) rotate(u[e], v[e], c[e], s[e]);
          store(from, to, 0, first, pairs, u);
          store(from, to, pairs, first, pairs, v);
        } else {
          float c[4], s[4], u[N];  // N / 2 of them count
          load_channels<P>(cosines, first, pairs, c);
          load_channels<P>(sines, first, pairs, s);
          to_floats<P, T>(load_piece<P>(from, 2 * first, width), u);
          ASHLAR_DEVICE_UNROLL
          for (int e = 0; e < N / 2; ++e) rotate(u[2 * e], u[2 * e + 1], c[e], s[e]);
          store(from, to, 0, 2 * first, width, u);
        }
      }
    }
    /// Copies the elements of every head from `begin` on.
    template <class V, class ToOf>
    ASHLAR_DEVICE void copy(const V& x, index_t begin, ToOf to_of) const {
      const index_t width = x.extent(3) - begin;
      const auto steps = static_cast<std::uint32_t>(ceil_div(width, N));
      const auto all = static_cast<std::uint32_t>(x.extent(2)) * steps;
      for (auto i = static_cast<std::uint32_t>(P::thread()); i < all; i += threads) {
        const index_t h = i / steps, first = index_t{i % steps} * N;
        float v[N];
        to_floats<P, T>(load_piece<P>(head(x, h) + begin, first, width), v);
        store_cached(to_of(h) + begin, first, width, v);
      }
    }
    ASHLAR_DEVICE static void rotate(float& u, float& v, float c, float s) {
      const float turned = std::fma(u, c, -(v * s));
      v = std::fma(v, c, u * s);
      u = turned;
    }
    /// N values at offset + first of a row whose part at offset has `width` elements. The cache
    /// gets them as rounded to T, as one that is filled afterwards would.
    ASHLAR_DEVICE static void store(T* x, E* to, index_t offset, index_t first, index_t width,
                                    float (&v)[N]) {
      const Quad rounded = to_piece<P, T>(v);
      store_piece<P>(x + offset, first, width, rounded);
      if (to == nullptr) return;
      to_floats<P, T>(rounded, v);
      store_cached(to + offset, first, width, v);
    }
    ASHLAR_DEVICE static void store_cached(E* to, index_t first, index_t width,
                                           const float (&v)[N]) {
      constexpr int n = piece<E>;
      if constexpr (n >= N) {
        float wide[n] = {};
        ASHLAR_DEVICE_UNROLL
        for (int e = 0; e < N; ++e) wide[e] = v[e];
        store_piece<P>(to, first, min_index(width, first + N), to_piece<P, E>(wide));
      } else {
        ASHLAR_DEVICE_UNROLL
        for (int i = 0; i < N; i += n) {
          float part[n];
          ASHLAR_DEVICE_UNROLL
          for (int e = 0; e < n; ++e) part[e] = v[i + e];
          store_piece<P>(to, first + i, width, to_piece<P, E>(part));
        }
      }
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
