// The attention functions that ashlar/cuda.hpp declares.
#pragma once

#include <ashlar/cuda/attention.hpp>
#include <ashlar/cuda/attention_arguments.hpp>
#include <ashlar/cuda/launch.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Enqueues the forward kernel of the padded widths, or the one without tensor cores.
template <class Problem>
void launch_attention(Context<backend::CudaGpu>& ctx, const Problem& p) {
  if constexpr (sizeof(typename Problem::T) == 2 && !is_quantised<Problem>)
    if (attention_route(p, ctx.device().architecture).tensor_cores)
      return with_padded_widths(p.q.extent(3), p.kv.value_width(), [&]<int Dk, int Dv>() {
        launch<AttentionForward<Problem, Dk, Dv>>(ctx, "attention", p);
      });
  launch<AttentionFallback<Problem>>(ctx, "attention", p);
}

/// Enqueues the split kernel and the merge of its splits.
template <class Problem>
void launch_decode(Context<backend::CudaGpu>& ctx, const Problem& p) {
  if constexpr (sizeof(typename Problem::T) == 2) {
    if (attention_route(p, ctx.device().architecture).tensor_cores) {
      Scratch::Frame frame(ctx.scratch());
      const index_t splits = ceil_div(p.kv.max_length(), decode_split_keys);
      const index_t results = p.q.extent(0) * p.heads() * p.most_queries * splits;
      const DecodeArguments<Problem> a{p,
                                       {frame.get<float>(results * p.kv.value_width()),
                                        frame.get<SoftmaxState<float>>(results), splits,
                                        decode_split_keys}};
      with_padded_widths(p.q.extent(3), p.kv.value_width(), [&]<int Dk, int Dv>() {
        launch<AttentionDecode<Problem, Dk, Dv>>(ctx, "attention_decode", a);
      });
      launch<AttentionCombine<Problem>>(ctx, "attention_decode", a);
      return;
    }
  }
  launch<AttentionFallback<Problem>>(ctx, "attention_decode", p);
}

template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_paged(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                     const KeyPages<T>& kv, std::type_identity_t<TensorView<T, 4>> out,
                     const AttentionOptions<Mask, Score>& options) {
  launch_attention(ctx, make_problem("attention_paged", q, kv, out, options));
}

template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_decode_paged(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                            const KeyPages<T>& kv, std::type_identity_t<TensorView<T, 4>> out,
                            const AttentionOptions<Mask, Score>& options) {
  launch_decode(ctx, make_problem("attention_decode_paged", q, kv, out, options));
}

template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_packed(Context<backend::CudaGpu>& ctx, TensorView<const T, 3> q,
                      std::type_identity_t<TensorView<const T, 3>> k,
                      std::type_identity_t<TensorView<const T, 3>> v,
                      std::type_identity_t<TensorView<T, 3>> out,
                      VectorView<const std::int32_t> q_starts,
                      VectorView<const std::int32_t> k_starts, index_t most_queries,
                      const AttentionOptions<Mask, Score>& options) {
  launch_attention(ctx, make_packed_problem("attention_packed", q, k, v, out, q_starts, k_starts,
                                            most_queries, options));
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda

namespace ashlar::inline ASHLAR_ABI {

template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
               std::type_identity_t<TensorView<const T, 4>> k,
               std::type_identity_t<TensorView<const T, 4>> v,
               std::type_identity_t<TensorView<T, 4>> out,
               const AttentionOptions<Mask, Score>& options) {
  detail::checked_rows<T>("attention", k, v);
  cuda::launch_attention(ctx,
                         cuda::make_problem("attention", q, cuda::KeyRows<T>{k, v}, out, options));
}

template <Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_decode(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                      std::type_identity_t<TensorView<const T, 4>> k,
                      std::type_identity_t<TensorView<const T, 4>> v,
                      std::type_identity_t<TensorView<T, 4>> out,
                      const AttentionOptions<Mask, Score>& options) {
  detail::checked_rows<T>("attention_decode", k, v);
  cuda::launch_decode(
      ctx, cuda::make_problem("attention_decode", q, cuda::KeyRows<T>{k, v}, out, options));
}

}  // namespace ashlar::inline ASHLAR_ABI
