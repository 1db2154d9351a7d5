// New keys and values into a quantised cache.
#pragma once

#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/key_source.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// k [B, T, K, H], v [B, T, K, Hv], or packed with a batch stride of 0. Token t of sequence b
/// becomes key lengths[b] + t of the cache, which is a source of Q8_0 that attention reads, in
/// memory that this kernel writes; the caller sees to it that there is room. `lengths` [B] lies on
/// the device; none: the cache is empty.
template <class T, class Cache>
struct AppendQ8Arguments {
  TensorView<const T, 4> k, v;
  Cache cache;
  const index_t* lengths = nullptr;
  RowRange tokens{};
  index_t most_tokens = 0;  // of a sequence
};

/// Rounds rows as Q8_0::round_row does, with its bits. A block takes a token, a warp 32 elements of
/// a head, a lane one of them.
template <class T, class Cache>
struct AppendQ8 {
  static_assert(std::is_same_v<typename Cache::element_type, Q8_0>);
  using Arguments = AppendQ8Arguments<T, Cache>;
  static constexpr int needs_architecture = 0;
  static constexpr int warps = 4, threads = 32 * warps, blocks_per_multiprocessor = 8;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) { return {a.most_tokens, 1, a.cache.batch()}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t b = P::block_z(), t = P::block_x();
    if (t >= a.tokens.count(b, a.most_tokens)) return;
    const index_t row = a.tokens.first(b) + t, slot = (a.lengths ? a.lengths[b] : 0) + t;
    round<P>(a.k, b, row, [&](index_t head) { return a.cache.key(b, head, slot); });
    round<P>(a.v, b, row, [&](index_t head) { return a.cache.value(b, head, slot); });
  }

 private:
  template <class P, class RowOf>
  static ASHLAR_DEVICE void round(const TensorView<const T, 4>& x, index_t b, index_t row,
                                  RowOf row_of) {
    const int lane = P::thread() % 32, width = static_cast<int>(x.extent(3));
    const int blocks = static_cast<int>(Q8_0::scales(width));
    const int all = static_cast<int>(x.extent(2)) * blocks;
    for (int n = P::thread() / 32; n < all; n += warps) {
      const int head = n / blocks, block = n % blocks, i = block * 32 + lane;
      const float value = i < width ? static_cast<float>(cache_row(x, b, row, head)[i]) : 0.f;
      std::uint32_t largest = Q8_0::magnitude(value);
      for (int s = 16; s > 0; s /= 2) {
        const std::uint32_t other = P::shuffle_xor(largest, s);
        largest = other > largest ? other : largest;
      }
      const half scale = Q8_0::scale(__builtin_bit_cast(float, largest));
      // What lies in the cache is const to those that read it.
      const Q8Row to = row_of(head);
      if (i < width) const_cast<std::int8_t*>(to.codes)[i] = Q8_0::code(value, scale);
      if (lane == 0) const_cast<half*>(to.scales)[block] = scale;
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
