// A decoding step on a quantised cache, as docs/cuda.md shows it.
#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/cuda.cuh>

using namespace ashlar;

/// New keys and values enter the cache, then the new queries attend to all it holds. Keys are
/// rotated before, as they are remembered so.
void cached_step(Context<backend::CudaGpu>& ctx, TensorView<const bfloat16, 4> q,
                 TensorView<const bfloat16, 4> k, TensorView<const bfloat16, 4> v,
                 const cuda::KeyRows<Q8_0>& cache, VectorView<const index_t> before,
                 VectorView<const index_t> after, TensorView<bfloat16, 4> out) {
  cuda::append_q8(ctx, k, v, cache, before);
  AttentionOptions<CausalMask> options;
  options.kv_lengths = after;
  cuda::attention_decode_q8(ctx, q, cache, out, options);
}
