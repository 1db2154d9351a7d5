// A user's program: one op on every component that was found, each must agree.
#include <ashlar/ashlar.hpp>
#if defined(USER_HAS_simd)
#  include <ashlar/simd.hpp>
#endif
#if defined(USER_HAS_eigen)
#  include <ashlar/eigen.hpp>
#endif
#if defined(USER_HAS_openmp)
#  include <ashlar/openmp.hpp>
#endif
#include <cmath>
#include <cstdio>

namespace {
template <class Backend>
int wrong(ashlar::Executor executor) {
  const float x[4] = {3.f, 4.f, 0.f, 0.f}, gain[4] = {1.f, 2.f, 1.f, 1.f};
  float y[4] = {};
  ashlar::Context<Backend> ctx(executor);
  ashlar::rms_norm(ctx, ashlar::MatrixView<const float>(x, {1, 4}),
                   ashlar::VectorView<const float>(gain, {4}), ashlar::MatrixView<float>(y, {1, 4}),
                   0.f);
  std::printf("%s: %g %g\n", std::string(Backend::name).c_str(), static_cast<double>(y[0]),
              static_cast<double>(y[1]));
  return std::fabs(y[0] - 1.2f) < 1e-6f && std::fabs(y[1] - 3.2f) < 1e-6f ? 0 : 1;
}
}  // namespace

int main() {
  ashlar::Executor executor;
#if defined(USER_HAS_openmp)
  executor = ashlar::openmp_executor(2);
#endif
  int faults = wrong<ashlar::backend::ScalarCpu>(executor);
#if defined(USER_HAS_simd)
  faults += wrong<ashlar::backend::SimdCpu>(executor);
#endif
#if defined(USER_HAS_eigen)
  faults += wrong<ashlar::backend::EigenCpu>(executor);
#endif
  return faults;
}
