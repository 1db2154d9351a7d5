#include <gtest/gtest.h>

#include <ashlar/core/math.hpp>
#include <cmath>
#include <limits>

#include "core/math_cases.hpp"

namespace {

namespace m = ashlar::math;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

void expect_ulps(float got, double expected, double ulps) {
  EXPECT_LE(math_cases::error_in_ulps(got, expected), ulps) << got << " against " << expected;
}
bool is_zero(float x, bool negative) { return x == 0.0f && std::signbit(x) == negative; }

// Sums to one number: the worst error over 4 million inputs of every exponent.
struct Sweep {
  template <class F, class R>
  void operator()(const char* name, F f, R reference, double bound) const {
    double worst = 0;
    float at = 0;
    math_cases::each_input(1009, [&](float x) {
      if (nonpositive && x > 0) return;
      if (std::isinf(x)) return;  // the references may be NaN there; see Infinities
      const double error = math_cases::error_in_ulps(f(x), reference(static_cast<double>(x)));
      if (error > worst) {
        worst = error;
        at = x;
      }
    });
    EXPECT_LE(worst, bound) << name << " at " << at << ": got " << f(at) << ", expected "
                            << reference(static_cast<double>(at));
  }
  bool nonpositive;
};

TEST(Math, WithinBoundsOfDouble) { math_cases::each_function(Sweep{false}); }
TEST(Math, Exp2WithinBoundsOfDouble) { math_cases::exp2_function(Sweep{true}); }

TEST(Math, Exp2IsTheStatedPolynomial) {
  math_cases::each_input(4099, [](float x) {
    if (!(x <= 0) || x < -126) return;
    const float n = std::nearbyint(x), f = x - n;
    float p = std::fma(1.32647273e-3f, f, 9.67151299e-3f);
    for (const float c : {5.55073358e-2f, 0.240222424f, 0.693147004f, 1.0f}) p = std::fma(p, f, c);
    ASSERT_EQ(m::exp2_nonpositive(x), std::ldexp(p, static_cast<int>(n))) << x;
  });
}
TEST(Math, Exp2NeverDenormal) {
  EXPECT_EQ(m::exp2_nonpositive(-126.0f), 0x1p-126f);
  EXPECT_TRUE(is_zero(m::exp2_nonpositive(std::nextafter(-126.0f, -200.0f)), false));
  EXPECT_TRUE(is_zero(m::exp2_nonpositive(-inf), false));
  EXPECT_EQ(m::exp2_nonpositive(0.0f), 1.0f);
  EXPECT_EQ(m::exp2_nonpositive(-0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(m::exp2_nonpositive(nan)));
}

TEST(Math, NanStaysNan) {
  math_cases::each_function([](const char* name, auto f, auto, double) {
    EXPECT_TRUE(std::isnan(f(nan))) << name;
    EXPECT_TRUE(std::isnan(f(-nan))) << name;
    EXPECT_TRUE(std::isnan(f(std::numeric_limits<double>::quiet_NaN()))) << name;
  });
}
TEST(Math, Infinities) {
  EXPECT_EQ(m::exp(inf), inf);
  EXPECT_TRUE(is_zero(m::exp(-inf), false));
  EXPECT_EQ(m::sigmoid(inf), 1.0f);
  EXPECT_TRUE(is_zero(m::sigmoid(-inf), false));
  EXPECT_EQ(m::tanh(inf), 1.0f);
  EXPECT_EQ(m::tanh(-inf), -1.0f);
  EXPECT_EQ(m::relu(inf), inf);
  EXPECT_TRUE(is_zero(m::relu(-inf), false));
  EXPECT_EQ(m::relu_squared(inf), inf);
}
template <class T>
void expect_gates_at_infinity() {
  for (T (*f)(T) : {&m::silu<T>, &m::gelu_erf<T>, &m::gelu_tanh<T>, &m::gelu_quick<T>}) {
    const T infinity = std::numeric_limits<T>::infinity();
    EXPECT_EQ(f(infinity), infinity);
    EXPECT_EQ(f(-infinity), T{0});
    EXPECT_TRUE(std::signbit(f(-infinity)));
    EXPECT_EQ(f(T(-1e30)), T{0});
    EXPECT_EQ(f(T(1e30)), T(1e30));
    EXPECT_TRUE(std::signbit(f(T{-0.0})) && f(T{-0.0}) == T{0});
  }
}
TEST(Math, GatesAtInfinity) {
  expect_gates_at_infinity<float>();
  expect_gates_at_infinity<double>();
}

TEST(Math, TailsDoNotCancelOrOverflow) {
  expect_ulps(m::silu(-88.8f), -88.800003051757812 * std::exp(-88.800003051757812), 2.6);
  expect_ulps(m::silu(-87.5f), -8.7345571e-37, 8);
  EXPECT_NEAR(m::silu(-88.8f), -2.4158e-37, 0.0001e-37);
  EXPECT_TRUE(is_zero(m::sigmoid(-1662.0f), false));
  EXPECT_NEAR(m::gelu_tanh(-5.0f), -2.2917962e-7, 1e-13);
  EXPECT_NEAR(m::gelu_tanh(-6.0f), -8.4396467e-11, 3e-17);
  EXPECT_NEAR(m::gelu_tanh(-8.0f), -3.1077829e-21, 1e-27);
  EXPECT_NEAR(m::gelu_erf(-5.0f), -1.4332579e-6, 1e-12);
  EXPECT_NEAR(m::silu(2.0f) * 3.0f, 5.2847825, 2e-6);
  EXPECT_NEAR(m::silu(-88.8), -2.4158e-37, 0.0001e-37);
  EXPECT_NEAR(m::gelu_tanh(-8.0), -3.1077829e-21, 1e-27);
}
TEST(Math, SoftcapOfLargeScores) {
  const float cap = 50;
  EXPECT_EQ(cap * m::tanh(4400.0f / cap), 50.0f);
  EXPECT_EQ(cap * m::tanh(5000.0f / cap), 50.0f);
  EXPECT_EQ(cap * m::tanh(-10000.0f / cap), -50.0f);
  EXPECT_EQ(cap * m::tanh(1e30f / cap), 50.0f);
}
TEST(Math, TanhIsOddAndKeepsSmallArguments) {
  for (const float x : {0x1p-149f, 0x1p-126f, 1e-20f, 1e-5f}) {
    EXPECT_EQ(m::tanh(x), x);
    EXPECT_EQ(m::tanh(-x), -x);
  }
  EXPECT_TRUE(is_zero(m::tanh(-0.0f), true));
}
// (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, which rounds to 1 + 2^-11: a fused difference is 2^-24.
float difference(float a, float b, float c) {
  return m::Ops<float>::sub(m::Ops<float>::mul(a, b), c);
}
TEST(Math, ProductsAreRounded) {
  const volatile float x = 1 + 0x1p-12f;
  EXPECT_EQ(difference(x, x, 1 + 0x1p-11f), 0.0f);
}
}  // namespace
