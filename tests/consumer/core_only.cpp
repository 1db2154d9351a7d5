// The whole library but for its components: one -I, no third-party header, no flag.
#include <ashlar/ashlar.hpp>
#include <cmath>
#include <cstdio>

#if defined(XSIMD_VERSION_MAJOR) || defined(EIGEN_WORLD_VERSION)
#  error "ashlar.hpp includes a third-party header"
#endif

int main() {
  const float x[4] = {3.f, 4.f, 0.f, 0.f}, gain[4] = {1.f, 2.f, 1.f, 1.f};
  float y[4] = {};
  ashlar::Context<ashlar::backend::ScalarCpu> ctx;
  ashlar::rms_norm(ctx, ashlar::MatrixView<const float>(x, {1, 4}),
                   ashlar::VectorView<const float>(gain, {4}), ashlar::MatrixView<float>(y, {1, 4}),
                   0.f);
  std::printf("%g %g\n", static_cast<double>(y[0]), static_cast<double>(y[1]));
  return std::fabs(y[0] - 1.2f) < 1e-6f && std::fabs(y[1] - 3.2f) < 1e-6f ? 0 : 1;
}
