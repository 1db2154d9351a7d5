// Elementwise kernels on the emulated device: the bits of the scalar kernels.
#include <gtest/gtest.h>

#include <ashlar/cuda/elementwise.hpp>
#include <ashlar/ops/residual_add.hpp>

#include "oracle/activations.hpp"
#include "row_case.hpp"

namespace {

using namespace ashlar;
using cuda_test::Channels, cuda_test::half_ulp, cuda_test::Rows, cuda_test::Vec;

template <class T>
struct ElementCase {
  index_t rows, width, gap;
  support::Random random{static_cast<std::uint64_t>(rows * width)};
  std::vector<T> a = cuda_test::numbers<T>(random, rows* width, 3);
  std::vector<T> b = cuda_test::numbers<T>(random, rows* width);
  std::vector<float> channel = cuda_test::numbers<float>(random, width);

  template <class Op>
  std::vector<T> run() {
    Rows<T> x(rows, width, gap, a), more(rows, width, gap, b), y(rows, width, gap);
    const Channels<float> c(channel);
    typename cuda::Elementwise<Op, T>::Arguments arguments{x.in(), {}, {}, y.view(), {}};
    if (Op::has_second) arguments.b = more.in();
    if (Op::has_channel) arguments.channel = c.view();
    emulation::launch<cuda::Elementwise<Op, T>>(arguments);
    EXPECT_TRUE(y.gaps_intact());
    return y.values();
  }
  MatrixView<const T> view(const std::vector<T>& v) const { return {v.data(), {rows, width}}; }
};

template <class T, class F>
void for_shapes(F f) {
  for (const auto& [rows, width, gap] : {std::array<index_t, 3>{1, 1, 0},
                                         {3, 7, 1},
                                         {2, 64, 8},
                                         {5, 129, 3},
                                         {4, 576, 8},
                                         {2, 2500, 4},
                                         {1100, 9, 3}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << width << ", gap " << gap);
    ElementCase<T> c{rows, width, gap};
    f(c);
  }
}

template <class T, class Act>
void expect_activation() {
  Context<backend::ScalarCpu> ctx;
  for_shapes<T>([&](ElementCase<T>& c) {
    std::vector<T> y(c.a.size());
    activation<Act>(ctx, c.view(c.a), MatrixView<T>(y.data(), {c.rows, c.width}));
    EXPECT_TRUE(support::same_bits(c.template run<cuda::element::Activation<Act>>(), y));
    glu<Act>(ctx, c.view(c.a), c.view(c.b), MatrixView<T>(y.data(), {c.rows, c.width}));
    EXPECT_TRUE(support::same_bits(c.template run<cuda::element::Gate<Act>>(), y));
  });
}

TEST(Elementwise, ActivationsAndGatesAreTheScalarKernels) {
  expect_activation<float, act::Silu>();
  expect_activation<bfloat16, act::Silu>();
  expect_activation<half, act::Silu>();
  expect_activation<bfloat16, act::Gelu>();
  expect_activation<bfloat16, act::GeluTanh>();
  expect_activation<float, act::GeluQuick>();
  expect_activation<bfloat16, act::Relu>();
  expect_activation<float, act::ReluSquared>();
  expect_activation<half, act::Sigmoid>();
}

TEST(Elementwise, GatesMeetTheOracle) {
  ElementCase<bfloat16> c{3, 333, 3};
  const Vec a = cuda_test::doubles(c.a), b = cuda_test::doubles(c.b);
  const auto expect = [&](const auto& got, double (*f)(double)) {
    const Vec expected = oracle::gated(a, b, f);
    EXPECT_TRUE(support::all_within(got, expected,
                                    cuda_test::budget(expected, 1.1 * half_ulp<bfloat16>, 1e-30)));
  };
  expect(c.run<cuda::element::Gate<act::Silu>>(), oracle::silu);
  expect(c.run<cuda::element::Gate<act::Gelu>>(), oracle::gelu_erf);
  expect(c.run<cuda::element::Gate<act::GeluTanh>>(), oracle::gelu_tanh);
  expect(c.run<cuda::element::Gate<act::GeluQuick>>(), oracle::gelu_quick);
  expect(c.run<cuda::element::Gate<act::Sigmoid>>(), oracle::sigmoid);
  expect(c.run<cuda::element::Gate<act::ReluSquared>>(), oracle::relu_squared);
}

template <class T>
void expect_sums() {
  Context<backend::ScalarCpu> ctx;
  for_shapes<T>([&](ElementCase<T>& c) {
    const MatrixView<const T> branch = c.view(c.b);
    std::vector<T> y = c.a;
    residual_add(ctx, branch, {}, MatrixView<T>(y.data(), {c.rows, c.width}));
    EXPECT_TRUE(support::same_bits(c.template run<cuda::element::AddBranch>(), y));
    y = c.a;
    residual_add(ctx, branch, VectorView<const float>(c.channel.data(), {c.width}),
                 MatrixView<T>(y.data(), {c.rows, c.width}));
    EXPECT_TRUE(support::same_bits(c.template run<cuda::element::AddScaledBranch>(), y));
    for (index_t i = 0; i < c.rows * c.width; ++i)
      y[oracle::to_size(i)] = static_cast<T>(static_cast<float>(c.a[oracle::to_size(i)]) +
                                             c.channel[oracle::to_size(i % c.width)]);
    EXPECT_TRUE(support::same_bits(c.template run<cuda::element::AddBias>(), y));
  });
}

TEST(Elementwise, ResidualAndBias) {
  expect_sums<float>();
  expect_sums<bfloat16>();
  expect_sums<half>();
}

TEST(Elementwise, TheResultMayReplaceAnInput) {
  ElementCase<bfloat16> c{3, 200, 8};
  const auto apart = c.run<cuda::element::Gate<act::Silu>>();
  Rows<bfloat16> gate(3, 200, 8, c.a), up(3, 200, 8, c.b);
  emulation::launch<cuda::Elementwise<cuda::element::Gate<act::Silu>, bfloat16>>(
      {gate.in(), up.in(), {}, up.view()});
  EXPECT_TRUE(support::same_bits(up.values(), apart));
}

}  // namespace
