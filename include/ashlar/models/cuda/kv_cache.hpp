// DeviceKvCache: keys and values of earlier tokens in a device's memory.
#pragma once

#include <ashlar/cuda/attention.hpp>
#include <ashlar/cuda/device_buffer.hpp>
#include <ashlar/cuda/rope_launch.hpp>
#include <ashlar/models/cuda/token_batch.hpp>
#include <ashlar/nn/kv_cache.hpp>
#include <ashlar/nn/position/rope.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace cuda {

/// The keys of a cache as attention reads them: k [B, capacity, K, H], v [B, capacity, K, Hv], of
/// which sequence b has lengths[b], a number on the device.
template <class T>
struct CachedKeys {
  TensorView<const T, 4> k, v;
  VectorView<const index_t> lengths;
};

/// The cache of one layer for B sequences, in the type of the activations. How many tokens it holds
/// is known on the device only, in two arrays of the decoder's state that all layers share: before
/// the call, and after it.
template <class T>
class DeviceKvCache {
 public:
  DeviceKvCache() = default;
  /// Throws ValueError for a negative size, CudaError when there is no memory.
  DeviceKvCache(const Device& device, index_t batch, index_t capacity, index_t heads,
                index_t key_width, index_t value_width)
      : k_(device, batch * capacity * heads * key_width),
        v_(device, batch * capacity * heads * value_width),
        k_view_(k_.data(), {batch, capacity, heads, key_width}),
        v_view_(v_.data(), {batch, capacity, heads, value_width}) {}

  /// Where the numbers of tokens lie, [B] each.
  void follow(const index_t* before, const index_t* after) {
    before_ = before;
    after_ = after;
  }
  index_t capacity() const { return k_view_.extent(1); }
  index_t bytes() const { return (k_.size() + v_.size()) * static_cast<index_t>(sizeof(T)); }
  CachedKeys<T> tiles() const { return {k_view_, v_view_, {after_, {k_view_.extent(0)}}}; }
  KeyRows<T> rows() const { return {k_view_, v_view_}; }

  /// Appends T tokens to every sequence, for which the caller has made room.
  /// Shapes   k [B, T, K, H], v [B, T, K, Hv]
  void append(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> k, TensorView<const T, 4> v) {
    const TensorView<T, 4> keys(const_cast<T*>(k.data()),  // no pair turns: not written
                                {k.extent(0), k.extent(1), k.extent(2), k.extent(3)},
                                {k.stride(0), k.stride(1), k.stride(2), 1});
    append(ctx, RopePairing::half_split, {}, {nullptr, {k.extent(0), k.extent(1), 0, k.extent(3)}},
           keys, v);
  }
  /// The same behind Rope's turn of queries and keys, in place, in one pass.
  /// Shapes   q [B, T, N, H]
  void append(Context<backend::CudaGpu>& ctx, const DeviceTokenBatch& batch, const Rope::Config& c,
              TensorView<T, 4> q, TensorView<T, 4> k, TensorView<const T, 4> v) {
    const auto table = c.rule.width == 0
                           ? TensorView<const float, 3>{}
                           : batch.tables().template get<float>(c.rule, batch.positions());
    append(ctx, c.pairing, table, q, k, v);
  }

 private:
  void append(Context<backend::CudaGpu>& ctx, RopePairing pairing, TensorView<const float, 3> table,
              TensorView<T, 4> q, TensorView<T, 4> k, TensorView<const T, 4> v) {
    RopeAppendArguments<T, KeyRows<T>> a;
    a.q = q;
    a.k = k;
    a.v = v;
    a.table = table;
    a.cache = rows();
    a.lengths = before_;
    a.most_tokens = k.extent(1);
    launch_rope(ctx, "DeviceKvCache", pairing, a);
  }

  DeviceBuffer<T> k_, v_;
  TensorView<T, 4> k_view_, v_view_;
  const index_t *before_ = nullptr, *after_ = nullptr;
};

}  // namespace cuda

/// attention() on a cache of a device.
/// Shapes   q [B, T, N, H], out [B, T, N, Hv]
template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
               const cuda::CachedKeys<T>& keys, std::type_identity_t<TensorView<T, 4>> out,
               AttentionOptions<Mask, Score> options) {
  options.kv_lengths = keys.lengths;
  attention(ctx, q, keys.k, keys.v, out, options);
}
/// attention_decode() on a cache of a device.
/// Shapes   as attention()
template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_decode(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                      const cuda::CachedKeys<T>& keys, std::type_identity_t<TensorView<T, 4>> out,
                      AttentionOptions<Mask, Score> options) {
  options.kv_lengths = keys.lengths;
  attention_decode(ctx, q, keys.k, keys.v, out, options);
}

}  // namespace ashlar::inline ASHLAR_ABI
