#include <ashlar/ops/activation.hpp>
#include <bit>

#include "oracle/activations.hpp"
#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats, rows::Matrix, rows::Vec;

/// f(activation, reference) for each.
template <class F>
void each_activation(F f) {
  f(act::Identity{}, [](double x) { return x; });
  f(act::Relu{}, oracle::relu);
  f(act::ReluSquared{}, oracle::relu_squared);
  f(act::Sigmoid{}, oracle::sigmoid);
  f(act::Silu{}, oracle::silu);
  f(act::Gelu{}, oracle::gelu_erf);
  f(act::GeluTanh{}, oracle::gelu_tanh);
  f(act::GeluQuick{}, oracle::gelu_quick);
}

template <class B>
struct Activations : rows::Op<B> {
  template <class Act, class T>
  std::vector<T> run(const std::vector<T>& x, index_t M = 1) {
    const index_t D = static_cast<index_t>(x.size()) / M;
    Matrix<T> in(M, D, x), y(M, D);
    activation<Act>(this->ctx, in.in(), y.view());
    EXPECT_TRUE(y.gaps_intact());
    return y.values();
  }
};
TYPED_TEST_SUITE(Activations, rows::Backends);

/// Error of a float for the exact value y: some units in its last place; without fma in hardware
/// the argument of an exponential is rounded as well. Denormal results may be flushed.
double budget(double y) {
  const double units = has_fma ? 4 : 8 + 2 * std::abs(std::log(std::abs(y) + 0x1p-140));
  return units * 0x1p-23 * std::abs(y) + 0x1p-126;
}

TYPED_TEST(Activations, AgreeWithTheOracleOverAllFloats) {
  Floats x;
  for (std::uint64_t u = 0; u < (std::uint64_t{1} << 32); u += 40009)
    if (const auto v = std::bit_cast<float>(static_cast<std::uint32_t>(u)); std::isfinite(v))
      x.push_back(v);
  each_activation([&]<class Act>(Act, auto reference) {
    Vec expected, allowed;
    for (const float v : x) {
      const double y = reference(v);
      expected.push_back(std::abs(y) > 3.4028235e38 ? HUGE_VAL : y);
      allowed.push_back(budget(y));
    }
    EXPECT_TRUE(support::all_within(this->template run<Act>(x), expected, allowed))
        << typeid(Act).name();
  });
}
TYPED_TEST(Activations, AgreeWithTheOracleInDouble) {
  const auto x = support::Random(1).normals<double>(7 * 33, 6);
  each_activation([&]<class Act>(Act, auto reference) {
    Vec expected, allowed;
    for (const double v : x) {
      expected.push_back(reference(v));
      const double y = std::abs(expected.back());  // the argument of e^w is rounded as well
      allowed.push_back((10 + 8 * std::abs(std::log(y + 0x1p-1000))) * 0x1p-53 * y);
    }
    EXPECT_TRUE(support::all_within(this->template run<Act>(x, 7), expected, allowed))
        << typeid(Act).name();
  });
}
TYPED_TEST(Activations, RoundSixteenBitResultsOnce) {
  std::vector<bfloat16> x;
  for (const float v : support::Random(2).normals<float>(99, 3)) x.emplace_back(v);
  const auto y = this->template run<act::Silu>(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = oracle::silu(static_cast<double>(x[i]));
    EXPECT_NEAR(static_cast<double>(y[i]), exact, 1.0001 * 0x1p-8 * std::abs(exact));
  }
}

TYPED_TEST(Activations, SiluAtTheEndsOfTheRange) {
  const float inf = HUGE_VALF;
  const Floats y = this->template run<act::Silu>(Floats{-inf, inf, -88.8f, -87.5f, NAN, -3e38f});
  EXPECT_EQ(y[0], 0.f);
  EXPECT_TRUE(std::signbit(y[0]));
  EXPECT_EQ(y[1], inf);
  EXPECT_NEAR(y[2] / -2.4158e-37, 1, 1e-4);
  EXPECT_NEAR(y[3] / -8.7346e-37, 1, 1e-4);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], 0.f);
}
TYPED_TEST(Activations, SigmoidSaturates) {
  EXPECT_TRUE(support::same_bits(this->template run<act::Sigmoid>(Floats{91, -1662, 3212, 0}),
                                 Floats{1, 0, 1, 0.5f}));
}
TYPED_TEST(Activations, TanhGeluKeepsItsTail) {
  const Floats y = this->template run<act::GeluTanh>(Floats{-5, -6, -8});
  const double allowed = has_fma ? 1e-6 : 3e-5;
  EXPECT_NEAR(y[0] / -2.2917962e-7, 1, allowed);
  EXPECT_NEAR(y[1] / -8.4396467e-11, 1, allowed);
  EXPECT_NEAR(y[2] / -3.1077829e-21, 1, allowed);
}

constexpr ActivationKind kinds[] = {ActivationKind::identity,     ActivationKind::relu,
                                    ActivationKind::relu_squared, ActivationKind::sigmoid,
                                    ActivationKind::silu,         ActivationKind::gelu,
                                    ActivationKind::gelu_tanh,    ActivationKind::gelu_quick};
/// The order of `kinds` is that of each_activation.
TYPED_TEST(Activations, AKindIsItsType) {
  const Floats a = support::Random(6).normals<float>(5 * 67, 4),
               b = support::Random(7).normals<float>(5 * 67, 2);
  Matrix<float> x(5, 67, a), up(5, 67, b), expected(5, 67), y(5, 67, 9);
  std::size_t i = 0;
  each_activation([&]<class Act>(Act type, auto) {
    ASSERT_LT(i, std::size(kinds));
    const ActivationKind kind = kinds[i++];
    activation<Act>(this->ctx, x.in(), expected.view());
    activation(this->ctx, kind, x.in(), y.view());
    EXPECT_TRUE(support::same_bits(y.values(), expected.values())) << typeid(Act).name();
    activation(this->ctx, type, x.in(), y.view());
    EXPECT_TRUE(support::same_bits(y.values(), expected.values())) << typeid(Act).name();
    glu<Act>(this->ctx, x.in(), up.in(), expected.view());
    glu(this->ctx, kind, x.in(), up.in(), y.view());
    EXPECT_TRUE(support::same_bits(y.values(), expected.values())) << typeid(Act).name();
    glu(this->ctx, type, x.in(), up.in(), y.view());
    EXPECT_TRUE(support::same_bits(y.values(), expected.values())) << typeid(Act).name();
  });
  EXPECT_EQ(i, std::size(kinds));
  EXPECT_EQ(rows::message<ValueError>(
                [&] { activation(this->ctx, static_cast<ActivationKind>(8), x.in(), y.view()); }),
            "activation: number 8, expected 0 to 7");
}

TYPED_TEST(Activations, GluAgreesWithTheOracle) {
  const Floats gate = support::Random(3).normals<float>(5 * 67, 4),
               up = support::Random(4).normals<float>(5 * 67, 2);
  each_activation([&]<class Act>(Act, auto reference) {
    Matrix<float> g(5, 67, gate), u(5, 67, up), y(5, 67, 9);
    glu<Act>(this->ctx, g.in(), u.in(), y.view());
    const Vec expected = oracle::gated(rows::doubles(gate), rows::doubles(up), reference);
    Vec allowed;
    for (const double v : expected) allowed.push_back(2 * budget(v) + 0x1p-126);
    EXPECT_TRUE(support::all_within(y.values(), expected, allowed)) << typeid(Act).name();
    EXPECT_TRUE(y.gaps_intact());
  });
}
TYPED_TEST(Activations, SwigluActivatesTheGate) {
  const Floats gate = {2}, up = {3};
  float y = 0;
  swiglu(this->ctx, MatrixView<const float>(gate.data(), {1, 1}),
         MatrixView<const float>(up.data(), {1, 1}), MatrixView<float>(&y, {1, 1}));
  EXPECT_NEAR(y, 5.2847825, 1e-6);
}
TYPED_TEST(Activations, ContractV14OutputMayBeAnInput) {
  const Floats a = support::Random(3).normals<float>(3 * 70),
               b = support::Random(4).normals<float>(3 * 70);
  Matrix<float> gate(3, 70, a), up(3, 70, b), y(3, 70), as_gate(3, 70, a), as_up(3, 70, b);
  swiglu(this->ctx, gate.in(), up.in(), y.view());
  swiglu(this->ctx, as_gate.in(), up.in(), as_gate.view());
  swiglu(this->ctx, gate.in(), as_up.in(), as_up.view());
  EXPECT_TRUE(support::same_bits(as_gate.values(), y.values()));
  EXPECT_TRUE(support::same_bits(as_up.values(), y.values()));
  EXPECT_TRUE(support::same_bits(gate.values(), a));
  EXPECT_TRUE(support::same_bits(up.values(), b));
}
TYPED_TEST(Activations, RefuseWhatDoesNotFit) {
  Matrix<float> x(2, 4, Floats(8, 1.f)), y(2, 4), narrow(2, 3);
  EXPECT_EQ(
      rows::message<ShapeError>([&] { activation<act::Relu>(this->ctx, x.in(), narrow.view()); }),
      "activation: y has shape [2, 3], expected [2, 4]");
  EXPECT_EQ(rows::message<ShapeError>([&] { swiglu(this->ctx, x.in(), narrow.in(), y.view()); }),
            "glu: up has shape [2, 3], expected [2, 4]");
  EXPECT_EQ(rows::message<ShapeError>([&] { swiglu(this->ctx, x.in(), x.in(), narrow.view()); }),
            "glu: y has shape [2, 3], expected [2, 4]");
}

}  // namespace
