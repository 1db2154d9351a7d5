// The attention functions that ashlar/cuda.hpp declares.
#pragma once

#include <ashlar/cuda/attention.hpp>
#include <ashlar/cuda/attention_arguments.hpp>
#include <ashlar/cuda/launch.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Enqueues the kernel of sm_90a.
template <int Dk, int Dv, class Problem>
void launch_sm90_attention(Context<backend::CudaGpu>& ctx, std::string_view name,
                           const Problem& p) {
  launch<AttentionForwardSm90<Problem, Dk, Dv>>(ctx, name, {p, ctx.device().multiprocessors});
}

/// Enqueues the forward kernel of the padded widths, that of sm_90a where it can, or the one
/// without tensor cores.
template <class Problem>
void launch_attention(Context<backend::CudaGpu>& ctx, const Problem& p) {
  if constexpr (sizeof(typename Problem::T) == 2 && !is_quantised<Problem>) {
    const AttentionRoute route = attention_route(p, ctx.device().architecture);
    if (route.tensor_cores)
      return with_padded_widths(p.q.extent(3), p.kv.value_width(), [&]<int Dk, int Dv>() {
        if constexpr (has_plain_rows<Problem>)
          if (route.no_sm90a.empty() &&
              is_compiled<AttentionForwardSm90<Problem, Dk, Dv>>(ctx.device()))
            return launch_sm90_attention<Dk, Dv>(ctx, "attention", p);
        launch<AttentionForward<Problem, Dk, Dv>>(ctx, "attention", p);
      });
  }
  if constexpr (std::is_same_v<typename Problem::T, float> && !is_quantised<Problem>)
    if (ctx.float_products() == FloatProducts::tf32 &&
        why_not_tf32(p, ctx.device().architecture).empty()) {
      if (p.q.extent(3) <= 64 && p.kv.value_width() <= 64)
        return launch<AttentionTf32<Problem, 64, 64>>(ctx, "attention", p);
      return launch<AttentionTf32<Problem, 128, 128>>(ctx, "attention", p);
    }
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
      const DecodeArguments<Problem> a{
          p,
          {frame.get<float>(results * p.kv.value_width()), frame.get<SoftmaxState<float>>(results),
           splits, decode_split_keys}};
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
void attention_sm90(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                    std::type_identity_t<TensorView<const T, 4>> k,
                    std::type_identity_t<TensorView<const T, 4>> v,
                    std::type_identity_t<TensorView<T, 4>> out,
                    const AttentionOptions<Mask, Score>& options) {
  static_assert(sizeof(T) == 2, "attention_sm90: elements are half or bfloat16");
  const auto p = make_problem("attention_sm90", q, KeyRows<T>{k, v}, out, options);
  const AttentionRoute route = attention_route(p, ctx.device().architecture);
  if (const std::string_view why = route.tensor_cores ? route.no_sm90a : route.reason; !why.empty())
    fail<ValueError>("attention_sm90: ", why, "; the device is sm_", ctx.device().architecture);
  with_padded_widths(q.extent(3), v.extent(3), [&]<int Dk, int Dv>() {
    launch_sm90_attention<Dk, Dv>(ctx, "attention_sm90", p);
  });
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
