// expect: RmsNormKernel<.*MyDevice
#include <ashlar/ashlar.hpp>

using namespace ashlar;

struct MyDevice {
#if defined(FIXED)
  using fallback = backend::ScalarCpu;
#else
  using fallback = backend::None;
#endif
  static constexpr std::string_view name = "my device";
  static constexpr MemorySpace space = MemorySpace::host;
};
template <>
class ashlar::Context<MyDevice> : public HostContext {};

void f(Context<MyDevice>& ctx, MatrixView<const float> x, VectorView<const float> gain,
       MatrixView<float> y) {
  rms_norm(ctx, x, gain, y, 1e-6f);
}
