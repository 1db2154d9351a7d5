// The ceiling of products: cuBLASLt.
#include <ashlar/cuda/product.cuh>

#include "library.cuh"

/// y [M, N] = x [M, K] w [N, K]^T.
extern "C" const char* bench_gemm(const ashlar::bfloat16* x, const ashlar::bfloat16* w,
                                  ashlar::bfloat16* y, long M, long N, long K, void* workspace,
                                  std::size_t bytes, cudaStream_t stream) {
  return bench::guarded([&] {
    static ashlar::cuda::MatrixProducts products;
    bench::Gpu ctx(bench::device(), stream, workspace, bytes);
    using View = ashlar::MatrixView<const ashlar::bfloat16>;
    products.run<ashlar::bfloat16>(ctx, View(x, {M, K}), View(w, {N, K}),
                                   ashlar::MatrixView<ashlar::bfloat16>(y, {M, N}));
  });
}
