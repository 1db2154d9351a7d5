// What is bound by memory: norms, gates, sums of bfloat16 rows.
#include "library.cuh"

using ashlar::bfloat16, ashlar::index_t, ashlar::MatrixView;

extern "C" {

const char* bench_rms_norm(const bfloat16* x, const float* gain, bfloat16* y, long rows, long width,
                           cudaStream_t stream) {
  return bench::guarded([&] {
    bench::Gpu ctx(bench::device(), stream);
    ashlar::rms_norm<ashlar::gain::AfterRounding>(ctx, MatrixView<const bfloat16>(x, {rows, width}),
                                                  {gain, {width}},
                                                  MatrixView<bfloat16>(y, {rows, width}), 1e-5f);
  });
}
const char* bench_swiglu(const bfloat16* gate, const bfloat16* up, bfloat16* y, long rows,
                         long width, cudaStream_t stream) {
  return bench::guarded([&] {
    bench::Gpu ctx(bench::device(), stream);
    ashlar::glu<ashlar::act::Silu>(ctx, MatrixView<const bfloat16>(gate, {rows, width}),
                                   MatrixView<const bfloat16>(up, {rows, width}),
                                   MatrixView<bfloat16>(y, {rows, width}));
  });
}
const char* bench_residual_add(const bfloat16* branch, bfloat16* x, long rows, long width,
                               cudaStream_t stream) {
  return bench::guarded([&] {
    bench::Gpu ctx(bench::device(), stream);
    ashlar::residual_add(ctx, MatrixView<const bfloat16>(branch, {rows, width}), {},
                         MatrixView<bfloat16>(x, {rows, width}));
  });
}

}  // extern "C"
