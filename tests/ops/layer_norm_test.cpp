#include <ashlar/ops/layer_norm.hpp>

#include "oracle/norms.hpp"
#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats, rows::Matrix, rows::Vec;

template <class B>
struct LayerNorm : rows::Op<B> {
  template <class Gain = gain::BeforeRounding, class T>
  std::vector<T> run(index_t M, const std::vector<T>& x, const Floats& gain = {},
                     const Floats& bias = {}, float eps = 1e-5f) {
    const index_t D = static_cast<index_t>(x.size()) / M;
    Matrix<T> in(M, D, x), y(M, D);
    layer_norm<Gain>(this->ctx, in.in(), rows::vector(gain), rows::vector(bias), y.view(), eps);
    EXPECT_TRUE(y.gaps_intact());
    return y.values();
  }

  template <class T, class Gain = gain::BeforeRounding>
  void expect_oracle() {
    for (const index_t D : rows::widths) {
      support::Random random(static_cast<std::uint64_t>(D));
      const auto x = random.normals<T>(3 * D, 2, 0.3);
      const auto w = random.normals<float>(D, 1, 1), b = random.normals<float>(D);
      for (const Floats& gain : {Floats(), w})
        for (const Floats& bias : {Floats(), b}) {
          const Vec expected =
              oracle::layer_norm(rows::doubles(x), 3, D, 1e-5f, rows::doubles(gain),
                                 rows::doubles(bias), std::is_same_v<Gain, gain::PlusOne>);
          const double factor = (12 + static_cast<double>(D) / 64) * rows::rounding<T>;
          EXPECT_TRUE(support::all_close(run<Gain>(3, x, gain, bias), expected,
                                         factor * (1 + support::max_magnitude(expected))))
              << D;
        }
    }
  }
};
TYPED_TEST_SUITE(LayerNorm, rows::Backends);

TYPED_TEST(LayerNorm, AgreesWithTheOracleInFloat) { this->template expect_oracle<float>(); }
TYPED_TEST(LayerNorm, AgreesWithTheOracleInDouble) { this->template expect_oracle<double>(); }
TYPED_TEST(LayerNorm, OnePlusGainAgreesWithTheOracle) {
  this->template expect_oracle<float, gain::PlusOne>();
  this->template expect_oracle<double, gain::PlusOne>();
}
TYPED_TEST(LayerNorm, ContractV9OnePlusGainIsFormedInFloat) {
  std::vector<bfloat16> x(2, bfloat16(3.f));
  x[1] = bfloat16(-3.f);  // of mean 0 and variance 9
  const auto y =
      this->template run<gain::PlusOne>(1, x, Floats(2, 15.8125f), Floats(2, 33.6875f), 0.f);
  EXPECT_EQ(static_cast<float>(y[0]), 50.5f);  // 1 + 15.8125 in bfloat16 would give 50.25
}

TYPED_TEST(LayerNorm, ContractV9ConstantRowsGiveZero) {
  for (const auto& x : {Floats(256, 1234.f), Floats(300, 123456.789f)})
    EXPECT_TRUE(support::all_close(this->run(1, x), Floats(x.size(), 0.f), 1e-3));
}
TYPED_TEST(LayerNorm, ContractV9MeanFarAboveTheSpread) {
  const Floats expected = {-1.3416354f, -0.4472118f, 0.4472118f, 1.3416354f};
  for (const float base : {40000.f, 80000.f}) {
    const Floats x = {base, base + 1, base + 2, base + 3};
    EXPECT_TRUE(support::all_close(this->run(1, x), expected, 3e-7)) << base;
  }
}
TYPED_TEST(LayerNorm, ContractV9SmallStepsOnALargeMean) {
  for (const float mean : {0.f, 100.f, 1000.f, 10000.f}) {
    Floats x;
    for (int i = 0; i < 16; ++i) x.push_back(mean + static_cast<float>(i) * 1e-3f);
    const Vec expected = oracle::layer_norm(rows::doubles(x), 1, 16, 1e-5f);
    EXPECT_TRUE(support::all_close(this->run(1, x), expected, 1e-6)) << mean;
  }
}
TYPED_TEST(LayerNorm, ContractV9SumsOfHalvesAreFormedInFloat) {
  std::vector<half> x(70, half(300.f));
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = half(-300.f);
  const auto y = this->run(1, x);
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(static_cast<float>(y[i]), i % 2 ? 1.f : -1.f);
}

TYPED_TEST(LayerNorm, ContractV14InputStaysUnlessItIsTheOutput) {
  const Floats x = support::Random(4).normals<float>(3 * 70), w(70, 1.5f);
  Matrix<float> apart(3, 70, x), y(3, 70), in_place(3, 70, x);
  layer_norm(this->ctx, apart.in(), rows::vector(w), {}, y.view(), 1e-5f);
  layer_norm(this->ctx, in_place.in(), rows::vector(w), {}, in_place.view(), 1e-5f);
  EXPECT_TRUE(support::same_bits(apart.values(), x));
  EXPECT_TRUE(support::same_bits(in_place.values(), y.values()));
}

TYPED_TEST(LayerNorm, RefusesWhatDoesNotFit) {
  Matrix<float> x(2, 4, Floats(8, 1.f)), y(2, 4), narrow(2, 3), none(2, 0);
  const Floats three(3), four(4, 1.f);
  const auto call = [&](auto in, const Floats& w, const Floats& b, auto out, float eps) {
    return [=, this, &w, &b] {
      layer_norm(this->ctx, in, rows::vector(w), rows::vector(b), out, eps);
    };
  };
  EXPECT_EQ(rows::message<ShapeError>(call(x.in(), four, four, narrow.view(), 0.f)),
            "layer_norm: y has shape [2, 3], expected [2, 4]");
  EXPECT_EQ(rows::message<ShapeError>(call(x.in(), three, four, y.view(), 0.f)),
            "layer_norm: gain has shape [3], expected [4]");
  EXPECT_EQ(rows::message<ShapeError>(call(x.in(), four, three, y.view(), 0.f)),
            "layer_norm: bias has shape [3], expected [4]");
  EXPECT_EQ(rows::message<ShapeError>(call(none.in(), {}, {}, none.view(), 0.f)),
            "layer_norm: x has rows of 0 elements");
  EXPECT_EQ(rows::message<ValueError>(call(x.in(), four, four, y.view(), -0.5f)),
            "layer_norm: eps is -0.5, expected at least 0");
}

}  // namespace
