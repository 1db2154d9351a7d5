// KvCache: keys and values of earlier tokens, contiguous, in tiles of 64.
#pragma once

#include <algorithm>
#include <ashlar/attention/kv_tiles.hpp>
#include <ashlar/backend/host_context.hpp>
#include <ashlar/core/buffer.hpp>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// The cache of one layer for B sequences. E is what is stored: float, half or bfloat16 (values are
/// rounded once, when appended), or double. Memory is taken once, for the whole capacity.
template <class E>
class KvCache {
 public:
  KvCache() = default;
  /// Throws ValueError for a negative size, and for one that no machine has.
  KvCache(index_t batch, index_t capacity, index_t heads, index_t key_width, index_t value_width)
      : capacity_(capacity), lengths_(static_cast<std::size_t>(std::max<index_t>(batch, 0))) {
    if (batch < 0 || capacity < 0 || heads < 1 || key_width < 1 || value_width < 1)
      fail<ValueError>("KvCache: ", batch, " sequences of ", capacity, " tokens, ", heads,
                       " heads of ", key_width, " and ", value_width, " elements");
    const auto size = [](index_t n) { return static_cast<double>(n); };
    const index_t widest = max_index(KvTiles<E>::k_tile_size(min_index(key_width, most)),
                                     KvTiles<E>::v_tile_size(min_index(value_width, most)));
    if (size(batch) * size(heads) * (size(capacity) / size(key_tile) + 1) * size(widest) >
        size(most))
      fail<ValueError>("KvCache: ", batch, " sequences of ", capacity, " tokens, ", heads,
                       " heads of ", key_width, " and ", value_width, " elements fit no memory");
    tiles_.batches = batch;
    tiles_.tiles = ceil_div(capacity, key_tile);
    tiles_.kv_heads = heads;
    tiles_.k_width = key_width;
    tiles_.v_width = value_width;
    const index_t count = batch * heads * tiles_.tiles;
    k_ = Buffer<E>(count * KvTiles<E>::k_tile_size(key_width));
    v_ = Buffer<E>(count * KvTiles<E>::v_tile_size(value_width));
  }

  index_t batch() const { return tiles_.batches; }
  index_t capacity() const { return capacity_; }
  index_t length(index_t b) const { return lengths_[static_cast<std::size_t>(b)]; }
  /// Bytes that the keys and values take.
  index_t bytes() const { return (k_.size() + v_.size()) * static_cast<index_t>(sizeof(E)); }

  /// What attention reads. Valid until the cache is moved.
  KvTiles<E> tiles() const {
    KvTiles<E> t = tiles_;
    t.k_data = const_cast<E*>(k_.data());
    t.v_data = const_cast<E*>(v_.data());
    t.lengths = lengths_.data();
    for (const index_t n : lengths_) t.longest = max_index(t.longest, n);
    return t;
  }

  /// Appends T tokens to every sequence.
  /// Shapes   k [B, T, K, H], v [B, T, K, Hv]
  /// Throws   ShapeError; ValueError when they do not fit, before anything is written
  template <class T>
  void append(const Executor& executor, TensorView<const T, 4> k, TensorView<const T, 4> v) {
    const index_t tokens = k.extent(1);
    expect_shape("KvCache::append", "k", k, {batch(), tokens, tiles_.kv_heads, tiles_.k_width});
    expect_shape("KvCache::append", "v", v, {batch(), tokens, tiles_.kv_heads, tiles_.v_width});
    for (index_t b = 0; b < batch(); ++b)
      if (tokens > capacity_ - length(b))
        fail<ValueError>("KvCache: ", tokens, " tokens after ", length(b),
                         " do not fit the capacity of ", capacity_);
    const KvTiles<E> t = tiles();
    parallel_for(executor, batch() * tiles_.kv_heads, [&](index_t task, int) {
      const index_t b = task / tiles_.kv_heads, head = task % tiles_.kv_heads, first = length(b);
      for (index_t i = 0; i < tokens; ++i) {
        for (index_t h = 0; h < tiles_.k_width; ++h)
          t.key(b, head, first + i, h) = static_cast<E>(k(b, i, head, h));
        for (index_t d = 0; d < tiles_.v_width; ++d)
          t.value(b, head, first + i, d) = static_cast<E>(v(b, i, head, d));
      }
    });
    for (index_t& n : lengths_) n += tokens;
  }

  template <class T>
  void append(HostContext& ctx, TensorView<const T, 4> k, TensorView<const T, 4> v) {
    append(ctx.executor(), k, v);
  }

  /// Drops the tokens at positions >= length of every sequence; 0 makes the cache as new.
  void truncate(index_t length) {
    if (length < 0) fail<ValueError>("KvCache: length is ", length);
    for (index_t& n : lengths_) n = min_index(n, length);
  }

 private:
  static constexpr index_t most = index_t{1} << 48;  // elements

  Buffer<E> k_, v_;
  KvTiles<E> tiles_{};
  index_t capacity_ = 0;
  std::vector<index_t> lengths_;
};

}  // namespace ashlar::inline ASHLAR_ABI
