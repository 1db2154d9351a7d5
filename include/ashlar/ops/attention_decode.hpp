// attention_decode: attention of a few new queries, split over keys.
#pragma once

#include <ashlar/ops/attention.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace kernels {

template <class B>
struct AttentionDecodeKernel : AttentionDecodeKernel<typename B::fallback> {};
template <>
struct AttentionDecodeKernel<backend::None> {};
/// Row by row is what the contract says already.
template <>
struct AttentionDecodeKernel<backend::ScalarCpu> : AttentionKernel<backend::ScalarCpu> {};

}  // namespace kernels

/// attention() for few queries a sequence (T of 1 to about 8): spans of 256 keys are shared out
/// over the threads and merged in ascending order, with the bits of attention().
///
/// Shapes   as attention()
/// Cost     reads K and V once for the N / K heads that share them
/// Throws   ShapeError, ValueError
template <Backend B, Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_decode(Context<B>& ctx, TensorView<const T, 4> q,
                      std::type_identity_t<TensorView<const T, 4>> k,
                      std::type_identity_t<TensorView<const T, 4>> v,
                      std::type_identity_t<TensorView<T, 4>> out,
                      const AttentionOptions<Mask, Score>& options) {
  const KvRows<T> kv = detail::checked_rows<T>("attention_decode", k, v);
  detail::check_attention("attention_decode", q, kv, out, options);
  if (q.extent(0) * q.extent(1) == 0) return;
  kernels::AttentionDecodeKernel<B>::run(ctx, q, kv, options, out);
}

/// The same on a cache in tiles (KvCache::tiles()).
/// Shapes   as attention(), with k and v in tiles
template <Backend B, Element T, class E, MaskPolicy Mask, ScorePolicy Score>
void attention_decode(Context<B>& ctx, TensorView<const T, 4> q, const KvTiles<E>& kv,
                      std::type_identity_t<TensorView<T, 4>> out,
                      const AttentionOptions<Mask, Score>& options) {
  detail::check_attention("attention_decode", q, kv, out, options);
  if (q.extent(0) * q.extent(1) == 0) return;
  kernels::AttentionDecodeKernel<B>::run(ctx, q, kv, options, out);
}

}  // namespace ashlar::inline ASHLAR_ABI
