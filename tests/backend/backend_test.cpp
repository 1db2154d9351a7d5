// What a backend is: fallbacks, the question whether an op can run, and a backend of the user's
// own.
#include <gtest/gtest.h>

#include <ashlar/simd.hpp>

namespace user {
struct Traced {  // has a softmax of its own and takes the rest from the scalar backend
  using fallback = ashlar::backend::ScalarCpu;
  static constexpr std::string_view name = "traced";
  static constexpr ashlar::MemorySpace space = ashlar::MemorySpace::host;
};
struct Bare {  // no kernels and no fallback
  using fallback = ashlar::backend::None;
  static constexpr std::string_view name = "bare";
  static constexpr ashlar::MemorySpace space = ashlar::MemorySpace::host;
};
struct NoName {
  using fallback = ashlar::backend::None;
};
}  // namespace user

template <>
class ashlar::Context<user::Traced> : public ashlar::HostContext {
 public:
  int softmax_calls = 0;
};
template <>
class ashlar::Context<user::Bare> : public ashlar::HostContext {};
template <>
struct ashlar::kernels::SoftmaxKernel<user::Traced>
    : ashlar::kernels::SoftmaxKernel<ashlar::backend::ScalarCpu> {
  template <ashlar::Element T>
  static void run(ashlar::Context<user::Traced>& ctx, ashlar::MatrixView<const T> x,
                  ashlar::MatrixView<T> y, ashlar::VectorView<float> lse) {
    ++ctx.softmax_calls;
    SoftmaxKernel<user::Traced::fallback>::run(ctx, x, y, lse);
  }
};

namespace {

using namespace ashlar;

static_assert(Backend<backend::ScalarCpu> && Backend<backend::SimdCpu> && Backend<user::Traced> &&
              Backend<user::Bare>);
static_assert(!Backend<user::NoName> && !Backend<int>);

template <class B, class T>
constexpr bool runs_rms_norm =
    can_run_v<kernels::RmsNormKernel, B, Context<B>&, gain::AfterRounding, MatrixView<const T>,
              VectorView<const float>, MatrixView<T>, float>;
static_assert(runs_rms_norm<backend::ScalarCpu, float> &&
              runs_rms_norm<backend::ScalarCpu, double>);
static_assert(runs_rms_norm<backend::SimdCpu, float> && runs_rms_norm<backend::SimdCpu, bfloat16>);
static_assert(runs_rms_norm<user::Traced, half>);
static_assert(!runs_rms_norm<user::Bare, float>);
static_assert(!runs_rms_norm<backend::SimdCpu, int>);
static_assert(!can_run_v<kernels::RmsNormKernel, backend::SimdCpu, HostContext&>);

TEST(Backend, NamesTellThemApart) {
  EXPECT_EQ(backend::ScalarCpu::name, "scalar");
  EXPECT_EQ(backend::SimdCpu::name, "simd");
}
TEST(Backend, UsersBackendRunsItsOwnKernelsAndInheritsTheRest) {
  Context<user::Traced> ctx;
  const float x[2] = {0, 0};
  float y[2];
  const MatrixView<const float> in(x, {1, 2});
  const MatrixView<float> out(y, {1, 2});
  softmax(ctx, in, out);
  EXPECT_EQ(ctx.softmax_calls, 1);
  EXPECT_EQ(y[1], 0.5f);
  activation<act::Sigmoid>(ctx, in, out);
  EXPECT_EQ(y[1], 0.5f);
  EXPECT_EQ(ctx.softmax_calls, 1);
}

}  // namespace
