#include "oracle/softmax.hpp"

#include <ashlar/ops/softmax.hpp>

#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats, rows::Matrix, rows::Vec;

template <class B>
struct Softmax : rows::Op<B> {
  template <class T>
  std::vector<T> run(index_t M, const std::vector<T>& x, Floats* lse = nullptr) {
    const index_t D = static_cast<index_t>(x.size()) / M;
    Matrix<T> in(M, D, x), y(M, D);
    if (lse) lse->assign(static_cast<std::size_t>(M), NAN);
    softmax(this->ctx, in.in(), y.view(),
            lse ? VectorView<float>(lse->data(), {M}) : VectorView<float>());
    EXPECT_TRUE(y.gaps_intact());
    return y.values();
  }

  template <class T>
  void expect_oracle() {
    for (const index_t D : rows::widths)
      for (const double scale : {1.0, 30.0}) {
        support::Random random(static_cast<std::uint64_t>(D));
        const auto x = random.normals<T>(3 * D, scale, -5);
        Floats lse;
        const auto got = run<T>(3, x, &lse);
        const Vec values = rows::doubles(x);
        const double factor = (has_fma ? 8 : 60) + static_cast<double>(D) / 64;
        Vec budget, expected_lse;
        const Vec expected = oracle::softmax(values, 3, D);
        // Below: denormal results, and x - max rounded to float before its exponential.
        for (std::size_t i = 0; i < expected.size(); ++i)
          budget.push_back(rows::rounding<T> * (factor + 2 * 12 * scale) * expected[i] + 1e-38);
        EXPECT_TRUE(support::all_within(got, expected, budget)) << D;
        for (index_t m = 0; m < 3; ++m)
          expected_lse.push_back(oracle::log_sum_exp(values.data() + m * D, D));
        EXPECT_TRUE(support::all_close(lse, expected_lse,
                                       4 * 0x1p-24 * (1 + support::max_magnitude(expected_lse))));
      }
  }
};
TYPED_TEST_SUITE(Softmax, rows::Backends);

TYPED_TEST(Softmax, AgreesWithTheOracleInFloat) { this->template expect_oracle<float>(); }
TYPED_TEST(Softmax, AgreesWithTheOracleInDouble) { this->template expect_oracle<double>(); }

TYPED_TEST(Softmax, LogSumExpOfEmptyRows) {
  const float inf = HUGE_VALF;
  Floats lse;
  EXPECT_TRUE(support::same_bits(this->run(1, Floats{-inf, -inf}, &lse), Floats{0, 0}));
  EXPECT_EQ(lse[0], -inf);
  EXPECT_TRUE(support::same_bits(this->run(1, Floats{-inf, 0}, &lse), Floats{0, 1}));
  EXPECT_EQ(lse[0], 0.f);
  this->run(1, Floats(), &lse);
  EXPECT_EQ(lse[0], -inf);
}
TYPED_TEST(Softmax, RowsFarBelowZeroAreNotEmpty) {
  for (const float x : {-1e5f, -1e30f, -3.4028235e38f}) {
    Floats lse;
    EXPECT_TRUE(support::same_bits(this->run(1, Floats{x, x}, &lse), Floats{0.5f, 0.5f})) << x;
    EXPECT_EQ(lse[0], x == -1e5f ? -99999.3046875f : x);
  }
}
TYPED_TEST(Softmax, HiddenEntriesAreExactlyZero) {
  Floats x(67, -HUGE_VALF);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -10;
  const Floats y = this->run(1, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], i % 3 ? 0.0 : 1.0 / 23, i % 3 ? 0.0 : 1e-8);
}

TYPED_TEST(Softmax, RefusesWhatDoesNotFit) {
  Matrix<float> x(2, 4, Floats(8, 1.f)), y(2, 4), narrow(2, 3);
  Floats three(3);
  EXPECT_EQ(rows::message<ShapeError>([&] { softmax(this->ctx, x.in(), narrow.view()); }),
            "softmax: y has shape [2, 3], expected [2, 4]");
  EXPECT_EQ(rows::message<ShapeError>([&] {
              softmax(this->ctx, x.in(), y.view(), VectorView<float>(three.data(), {3}));
            }),
            "softmax: lse has shape [3], expected [2]");
}

}  // namespace
