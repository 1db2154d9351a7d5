// expect: TensorView<.*1>
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#if defined(FIXED)
using Out = MatrixView<float>;
#else
using Out = VectorView<float>;
#endif

void f(Context<backend::ScalarCpu>& ctx, MatrixView<const float> x, VectorView<const float> gain,
       Out y) {
  rms_norm(ctx, x, gain, y, 1e-6f);
}
