// The attention functions on quantised caches of a device, and the append to one, declared;
// cuda/attention_q8_launch.cuh defines them.
#pragma once

#include <ashlar/cuda/attention.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// attention() on a cache of Q8_0, KeyRows<Q8_0> or KeyPages<Q8_0>. Products are formed in f32,
/// without tensor cores.
/// Shapes   q [B, T, N, H], keys and values as KeyRows or KeyPages, scales [.., Q8_0::scales(H)],
///          out [B, T, N, Hv]
/// Throws   ShapeError, ValueError, CudaError
template <Element T, template <class> class Source, MaskPolicy Mask, ScorePolicy Score>
void attention_q8(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q, const Source<Q8_0>& kv,
                  std::type_identity_t<TensorView<T, 4>> out,
                  const AttentionOptions<Mask, Score>& options);

/// attention_decode() on such a cache. On tensor cores, for 16-bit T, keys and values are decoded
/// to T: scale times code, exact in f32, rounded once.
/// Shapes   as attention_q8()
/// Throws   ShapeError, ValueError (also for a workspace that is too small), CudaError
template <Element T, template <class> class Source, MaskPolicy Mask, ScorePolicy Score>
void attention_decode_q8(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                         const Source<Q8_0>& kv, std::type_identity_t<TensorView<T, 4>> out,
                         const AttentionOptions<Mask, Score>& options);

/// Appends keys and values to such a cache: token t of sequence b becomes its key lengths[b] + t,
/// rounded as Q8_0::round_row. `lengths` [B] lies on the device and is not changed; none: the cache
/// is empty.
/// Shapes   k [B, T, K, H], v [B, T, K, Hv]
/// Throws   ShapeError, CudaError; room for the tokens on the device is not checked
template <Element T, template <class> class Source>
void append_q8(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> k,
               std::type_identity_t<TensorView<const T, 4>> v, const Source<Q8_0>& cache,
               VectorView<const index_t> lengths = {});

}  // namespace ashlar::inline ASHLAR_ABI::cuda
