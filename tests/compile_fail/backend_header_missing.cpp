// expect: incomplete type|implicit instantiation of undefined template.*SimdCpu
#include <ashlar/ashlar.hpp>
#if defined(FIXED)
#  include <ashlar/simd.hpp>
#endif

using namespace ashlar;

void f(MatrixView<const float> x, VectorView<const float> gain, MatrixView<float> y) {
  Context<backend::SimdCpu> ctx;
  rms_norm(ctx, x, gain, y, 1e-6f);
}
