#include <ashlar/ops/rms_norm.hpp>

#include "oracle/norms.hpp"
#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats, rows::Matrix, rows::Vec;

template <class B>
struct RmsNorm : rows::Op<B> {
  template <class T, class Gain = gain::AfterRounding>
  std::vector<T> run(index_t M, index_t D, const std::vector<T>& x, const Floats& weights,
                     float eps) {
    Matrix<T> in(M, D, x), y(M, D);
    rms_norm<Gain>(this->ctx, in.in(), rows::vector(weights), y.view(), eps);
    EXPECT_TRUE(y.gaps_intact());
    return y.values();
  }

  template <class T>
  void expect_oracle() {
    for (const index_t D : rows::widths) {
      support::Random random(static_cast<std::uint64_t>(D));
      const auto x = random.normals<T>(3 * D, 2, 0.3);
      Floats w;
      for (index_t i = 0; i < D; ++i) w.push_back(static_cast<float>(random.uniform(0.5, 1.5)));
      const auto check = [&](const std::vector<T>& got, const Vec& expected) {
        Vec budget;
        for (const double y : expected)
          budget.push_back((10 + static_cast<double>(D) / 64) * rows::rounding<T> * std::abs(y));
        EXPECT_TRUE(support::all_within(got, expected, budget)) << D;
      };
      const double eps = 1e-5f;
      const Vec values = rows::doubles(x), gain = rows::doubles(w);
      check(run<T>(3, D, x, {}, 1e-5f), oracle::rms_norm(values, 3, D, eps));
      check(run<T>(3, D, x, w, 1e-5f), oracle::rms_norm(values, 3, D, eps, gain));
      check(run<T, gain::BeforeRounding>(3, D, x, w, 1e-5f),
            oracle::rms_norm(values, 3, D, eps, gain));
      check(run<T, gain::PlusOne>(3, D, x, w, 1e-5f),
            oracle::rms_norm(values, 3, D, eps, gain, true));
      check(run<T, gain::None>(3, D, x, w, 1e-5f), oracle::rms_norm(values, 3, D, eps));
    }
  }
};
TYPED_TEST_SUITE(RmsNorm, rows::Backends);

TYPED_TEST(RmsNorm, AgreesWithTheOracleInFloat) { this->template expect_oracle<float>(); }
TYPED_TEST(RmsNorm, AgreesWithTheOracleInDouble) { this->template expect_oracle<double>(); }

TYPED_TEST(RmsNorm, EpsilonIsInsideTheRoot) {
  const Floats y = this->template run<float>(1, 50, Floats(50, 1e-4f), {}, 1e-6f);
  EXPECT_TRUE(support::all_close(y, Floats(50, 0.0995037f), 1e-7));
}

TYPED_TEST(RmsNorm, ContractV9SquaresOfHalvesAreSummedInFloat) {
  const std::vector<half> y =
      this->template run<half>(2, 65, std::vector<half>(130, half(300.f)), {}, 1e-5f);
  for (const half v : y) EXPECT_EQ(static_cast<float>(v), 1.f);
}

TYPED_TEST(RmsNorm, SquaresOverflowAboveTheDocumentedLimit) {
  const auto first = [&]<class T>(T x) {
    return this->template run<T>(1, 64, std::vector<T>(64, x), {}, 0.f)[0];
  };
  EXPECT_NEAR(first(1e18f), 1, 1e-6);
  EXPECT_EQ(first(1e20f), 0.f);
  EXPECT_NEAR(first(1e20), 1, 1e-15);
}

TYPED_TEST(RmsNorm, ContractV9OnePlusGainIsFormedInFloat) {
  std::vector<bfloat16> x(9);
  x[0] = bfloat16(3.f);  // of a root mean square of 1
  const auto y = this->template run<bfloat16, gain::PlusOne>(1, 9, x, Floats(9, 15.8125f), 0.f);
  EXPECT_EQ(static_cast<float>(y[0]), 50.5f);  // 1 + 15.8125 in bfloat16 would give 50.25
}

double to_bfloat16(double x) {
  int exponent;
  const double m = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(m, 8)), exponent - 8);
}
TYPED_TEST(RmsNorm, ContractV9GainAfterOrBeforeRounding) {
  const index_t D = 333;
  support::Random random(77);
  std::vector<bfloat16> x;
  Floats w;
  for (index_t i = 0; i < D; ++i) {
    x.emplace_back(static_cast<float>(random.normal(2)));
    w.push_back(static_cast<float>(random.uniform(0.5, 2)));
  }
  const auto after = this->template run<bfloat16>(1, D, x, w, 1e-6f);
  const auto before = this->template run<bfloat16, gain::BeforeRounding>(1, D, x, w, 1e-6f);
  const Vec unit = oracle::rms_norm(rows::doubles(x), 1, D, 1e-6);
  int differ = 0, checked = 0;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const double u = unit[i], g = w[i];
    // Sums in float may fall on the other side of a tie: leave out what lies close to one.
    const auto near_tie = [](double v) {
      return to_bfloat16(v * (1 - 1e-5)) != to_bfloat16(v * (1 + 1e-5));
    };
    if (near_tie(u) || near_tie(u * g) || near_tie(to_bfloat16(u) * g)) continue;
    ++checked;
    EXPECT_EQ(static_cast<double>(after[i]), to_bfloat16(to_bfloat16(u) * g)) << i;
    EXPECT_EQ(static_cast<double>(before[i]), to_bfloat16(u * g)) << i;
    differ += after[i] != before[i];
  }
  EXPECT_GT(checked, 300);
  EXPECT_GT(differ, 20);
}

TYPED_TEST(RmsNorm, ContractV14InputStaysUnlessItIsTheOutput) {
  const Floats x = support::Random(4).normals<float>(3 * 70), w(70, 1.5f);
  Matrix<float> apart(3, 70, x), y(3, 70), in_place(3, 70, x);
  rms_norm(this->ctx, apart.in(), rows::vector(w), y.view(), 1e-5f);
  rms_norm(this->ctx, in_place.in(), rows::vector(w), in_place.view(), 1e-5f);
  EXPECT_TRUE(support::same_bits(apart.values(), x));
  EXPECT_TRUE(support::same_bits(in_place.values(), y.values()));
}

TYPED_TEST(RmsNorm, HeadsAreNormalisedByThemselves) {
  Floats x(64, 1.f);
  std::fill(x.begin() + 32, x.end(), 100.f);
  rms_norm(this->ctx, MatrixView<const float>(x.data(), {2, 32}), {},
           MatrixView<float>(x.data(), {2, 32}), 0.f);
  EXPECT_TRUE(support::all_close(x, Floats(64, 1.f), 1e-6));
}

TYPED_TEST(RmsNorm, RefusesWhatDoesNotFit) {
  Matrix<float> x(2, 4, Floats(8, 1.f)), y(2, 4), narrow(2, 3), none(2, 0);
  const Floats three(3), four(4, 1.f);
  const auto call = [&](auto in, const Floats& w, auto out, float eps) {
    return [=, this, &w] { rms_norm(this->ctx, in, rows::vector(w), out, eps); };
  };
  EXPECT_EQ(rows::message<ShapeError>(call(x.in(), four, narrow.view(), 0.f)),
            "rms_norm: y has shape [2, 3], expected [2, 4]");
  EXPECT_EQ(rows::message<ShapeError>(call(x.in(), three, y.view(), 0.f)),
            "rms_norm: gain has shape [3], expected [4]");
  EXPECT_EQ(rows::message<ShapeError>(call(none.in(), {}, none.view(), 0.f)),
            "rms_norm: x has rows of 0 elements");
  EXPECT_EQ(rows::message<ValueError>(call(x.in(), four, y.view(), -1.f)),
            "rms_norm: eps is -1, expected at least 0");
  EXPECT_NE(rows::message<ValueError>(call(x.in(), four, y.view(), NAN)), "");
}

}  // namespace
