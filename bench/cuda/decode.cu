// Decoding, one query a sequence, from rows or pages of bfloat16.
#include "library.cuh"

extern "C" {

/// q and out [B, 1, N, H], k and v [B, S, K, H].
const char* bench_decode(ashlar::bfloat16* q, ashlar::bfloat16* k, ashlar::bfloat16* v,
                         ashlar::bfloat16* out, long B, long S, long N, long K, long H,
                         void* workspace, std::size_t bytes, cudaStream_t stream) {
  return bench::guarded([&] {
    bench::Gpu ctx(bench::device(), stream, workspace, bytes);
    ashlar::attention_decode<ashlar::bfloat16>(
        ctx, bench::Rows{q, B, 1, N, H}, bench::Rows{k, B, S, K, H}, bench::Rows{v, B, S, K, H},
        bench::Rows{out, B, 1, N, H}, ashlar::AttentionOptions<>{});
  });
}
/// k and v [pages, page, K, H], table [B, S / page].
const char* bench_decode_paged(ashlar::bfloat16* q, ashlar::bfloat16* k, ashlar::bfloat16* v,
                               const std::int32_t* table, ashlar::bfloat16* out, long B, long S,
                               long N, long K, long H, int log2_page, void* workspace,
                               std::size_t bytes, cudaStream_t stream) {
  return bench::guarded([&] {
    bench::Gpu ctx(bench::device(), stream, workspace, bytes);
    const long page = 1L << log2_page, pages = B * S / page;
    const ashlar::cuda::KeyPages<ashlar::bfloat16> cache{bench::Rows{k, pages, page, K, H},
                                                         bench::Rows{v, pages, page, K, H},
                                                         {table, {B, S / page}},
                                                         nullptr,
                                                         log2_page};
    ashlar::cuda::attention_decode_paged<ashlar::bfloat16>(ctx, bench::Rows{q, B, 1, N, H}, cache,
                                                           bench::Rows{out, B, 1, N, H},
                                                           ashlar::AttentionOptions<>{});
  });
}

}  // extern "C"
