// Attention of bfloat16 rows.
#include <ashlar/attention/mask/causal.hpp>

#include "library.cuh"

/// q and out [B, T, N, H], k and v [B, S, K, H].
extern "C" const char* bench_attention(ashlar::bfloat16* q, ashlar::bfloat16* k,
                                       ashlar::bfloat16* v, ashlar::bfloat16* out, long B, long T,
                                       long S, long N, long K, long H, int causal,
                                       cudaStream_t stream) {
  return bench::guarded([&] {
    bench::Gpu ctx(bench::device(), stream);
    const auto run = [&](auto mask) {
      ashlar::AttentionOptions<decltype(mask)> options;
      ashlar::attention<ashlar::bfloat16>(ctx, bench::Rows{q, B, T, N, H},
                                          bench::Rows{k, B, S, K, H}, bench::Rows{v, B, S, K, H},
                                          bench::Rows{out, B, T, N, H}, options);
    };
    if (causal)
      run(ashlar::CausalMask{});
    else
      run(ashlar::NoMask{});
  });
}
