// The functions that ashlar/cuda/attention_q8.hpp declares.
#pragma once

#include <ashlar/cuda/append_q8.hpp>
#include <ashlar/cuda/attention_launch.cuh>
#include <ashlar/cuda/attention_q8.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

template <Element T, template <class> class Source, MaskPolicy Mask, ScorePolicy Score>
void attention_q8(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q, const Source<Q8_0>& kv,
                  std::type_identity_t<TensorView<T, 4>> out,
                  const AttentionOptions<Mask, Score>& options) {
  launch_attention(ctx, make_problem("attention_q8", q, kv, out, options));
}

template <Element T, template <class> class Source, MaskPolicy Mask, ScorePolicy Score>
void attention_decode_q8(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> q,
                         const Source<Q8_0>& kv, std::type_identity_t<TensorView<T, 4>> out,
                         const AttentionOptions<Mask, Score>& options) {
  launch_decode(ctx, make_problem("attention_decode_q8", q, kv, out, options));
}

/// What the append kernel gets, checked.
template <class T, class Source>
AppendQ8Arguments<T, Source> make_append(std::string_view op, TensorView<const T, 4> k,
                                         TensorView<const T, 4> v, const Source& cache,
                                         VectorView<const index_t> lengths) {
  check_cache(op, cache);
  const index_t B = cache.batch(), T_ = k.extent(1);
  expect_shape(op, "k", k, {B, T_, cache.heads(), cache.key_width()});
  expect_shape(op, "v", v, {B, T_, cache.heads(), cache.value_width()});
  if (T_ > cache.max_length())
    fail<ShapeError>(op, ": ", T_, " tokens, the cache has room for ", cache.max_length());
  if (lengths.data() != nullptr) expect_shape(op, "lengths", lengths, {B});
  AppendQ8Arguments<T, Source> a{k, v, cache, lengths.data()};
  a.most_tokens = T_;
  return a;
}

template <Element T, template <class> class Source>
void append_q8(Context<backend::CudaGpu>& ctx, TensorView<const T, 4> k,
               std::type_identity_t<TensorView<const T, 4>> v, const Source<Q8_0>& cache,
               VectorView<const index_t> lengths) {
  launch<AppendQ8<T, Source<Q8_0>>>(ctx, "append_q8",
                                    make_append("append_q8", k, v, cache, lengths));
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
