// The attention functions on a device, declared; cuda/attention_launch.cuh defines them.
#pragma once

#include <ashlar/cuda/context.hpp>
#include <ashlar/cuda/key_source.hpp>
#include <ashlar/ops/attention.hpp>
#include <ashlar/ops/attention_decode.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// attention() on a device: everything that views and options point to lies in its memory, and
/// lengths are not checked. Products of 16-bit elements run on tensor cores where widths, alignment
/// and device allow (cuda::attention_route says), else in f32.
///
/// Shapes   as attention()
/// Dtypes   float, half, bfloat16; sums in f32, weights of 16-bit types rounded before the product
/// Throws   ShapeError, ValueError, cuda::CudaError
template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
               std::type_identity_t<TensorView<const T, 4>> k,
               std::type_identity_t<TensorView<const T, 4>> v,
               std::type_identity_t<TensorView<T, 4>> out,
               const AttentionOptions<Mask, Score>& options);

/// attention_decode() on a device: keys in splits of a fixed size, merged in ascending order, so
/// that a sequence's bits do not depend on its batch.
///
/// Shapes   as attention()
/// Throws   ShapeError, ValueError (also for a workspace that is too small), cuda::CudaError
template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_decode(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                      std::type_identity_t<TensorView<const T, 4>> k,
                      std::type_identity_t<TensorView<const T, 4>> v,
                      std::type_identity_t<TensorView<T, 4>> out,
                      const AttentionOptions<Mask, Score>& options);

namespace cuda {

/// attention() by the kernel of sm_90a, which attention() takes by itself where it can: for those
/// who must know which one runs.
/// Throws   as attention(), and ValueError when attention_route() says that it cannot, or the
///          program was not compiled for sm_90a
template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_sm90(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                    std::type_identity_t<TensorView<const T, 4>> k,
                    std::type_identity_t<TensorView<const T, 4>> v,
                    std::type_identity_t<TensorView<T, 4>> out,
                    const AttentionOptions<Mask, Score>& options);

/// attention() on a paged cache.
/// Shapes   q [B, T, N, H], keys and values as KeyPages, out [B, T, N, Hv]
template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_paged(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                     const KeyPages<T>& kv, std::type_identity_t<TensorView<T, 4>> out,
                     const AttentionOptions<Mask, Score>& options);

/// attention_decode() on a paged cache.
/// Shapes   as attention_paged()
template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_decode_paged(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                            const KeyPages<T>& kv, std::type_identity_t<TensorView<T, 4>> out,
                            const AttentionOptions<Mask, Score>& options);

/// attention() of sequences of different lengths, packed behind each other without padding.
/// q_starts and k_starts [B + 1] say which rows are whose; most_queries is the longest sequence's.
/// Shapes   q [rows, N, H], k [key rows, K, H], v [key rows, K, Hv], out [rows, N, Hv]; lse of the
///          options [1, N, rows]
template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_packed(Context<backend::CudaGpu>& ctx, TensorView<const T, 3> q,
                      std::type_identity_t<TensorView<const T, 3>> k,
                      std::type_identity_t<TensorView<const T, 3>> v,
                      std::type_identity_t<TensorView<T, 3>> out,
                      VectorView<const std::int32_t> q_starts,
                      VectorView<const std::int32_t> k_starts, index_t most_queries,
                      const AttentionOptions<Mask, Score>& options);

}  // namespace cuda

}  // namespace ashlar::inline ASHLAR_ABI
