// A program's own mask in the kernels: the example of docs/cuda.md, compiled as a user would.
#include <ashlar/cuda.cuh>

using namespace ashlar;

/// Everyone sees the first keys, and what comes before.
struct PrefixMask {
  index_t prefix;

  ASHLAR_HD bool keep(index_t, index_t, index_t q, index_t k) const { return k <= q || k < prefix; }
  ASHLAR_HD TileKind classify(index_t, index_t, index_t q0, index_t q1, index_t k0,
                              index_t k1) const {
    if (k0 > q1 - 1 && k0 >= prefix) return TileKind::skip;
    return k1 - 1 <= q0 || k1 <= prefix ? TileKind::full : TileKind::partial;
  }
};

/// What the program's host code calls.
void prefix_attention(Context<backend::CudaGpu>& ctx, TensorView<const bfloat16, 4> q,
                      TensorView<const bfloat16, 4> k, TensorView<const bfloat16, 4> v,
                      TensorView<bfloat16, 4> out, index_t prefix) {
  AttentionOptions<PrefixMask> options;
  options.mask = {prefix};
  attention(ctx, q, k, v, out, options);
}
