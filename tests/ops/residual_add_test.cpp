#include <ashlar/ops/residual_add.hpp>

#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats, rows::Matrix, rows::Vec;

template <class B>
struct ResidualAdd : rows::Op<B> {
  template <class T>
  void expect_sums() {
    for (const index_t D : rows::widths) {
      support::Random random(static_cast<std::uint64_t>(D));
      const auto stream = random.normals<T>(3 * D, 10), branch = random.normals<T>(3 * D);
      const auto scale = random.normals<float>(D, 0.1);
      for (const Floats& s : {Floats(), scale}) {
        Matrix<T> x(3, D, stream), y(3, D, branch);
        residual_add(this->ctx, y.in(), rows::vector(s), x.view());
        Vec expected, budget;
        for (std::size_t i = 0; i < stream.size(); ++i) {
          const double product =
              (s.empty() ? 1.0 : s[i % oracle::to_size(D)]) * static_cast<double>(branch[i]);
          expected.push_back(static_cast<double>(stream[i]) + product);
          // One rounding; without fma in hardware the product has its own.
          budget.push_back(rows::rounding<T> *
                           (std::abs(expected.back()) + (has_fma ? 0 : std::abs(product))) *
                           1.0001);
        }
        EXPECT_TRUE(support::all_within(x.values(), expected, budget)) << D;
        EXPECT_TRUE(support::same_bits(y.values(), branch));
        EXPECT_TRUE(x.gaps_intact());
      }
    }
  }
};
TYPED_TEST_SUITE(ResidualAdd, rows::Backends);

TYPED_TEST(ResidualAdd, AddsTheScaledBranchInFloat) { this->template expect_sums<float>(); }
TYPED_TEST(ResidualAdd, AddsTheScaledBranchInBfloat16) {
  std::vector<bfloat16> x = {bfloat16(1.f), bfloat16(256.f)}, y = {bfloat16(2.f), bfloat16(1.f)};
  const Floats scale = {0.25f, 0.25f};
  residual_add(this->ctx, MatrixView<const bfloat16>(y.data(), {1, 2}), rows::vector(scale),
               MatrixView<bfloat16>(x.data(), {1, 2}));
  EXPECT_EQ(static_cast<float>(x[0]), 1.5f);
  EXPECT_EQ(static_cast<float>(x[1]), 256.f);  // 256.25 rounded
}
TYPED_TEST(ResidualAdd, ScaleZeroLeavesTheStream) {
  const Floats stream = {1, -2, 3}, zero(3);
  Matrix<float> x(1, 3, stream), y(1, 3, Floats{5, 6, 7});
  residual_add(this->ctx, y.in(), rows::vector(zero), x.view());
  EXPECT_TRUE(support::same_bits(x.values(), stream));
}
TYPED_TEST(ResidualAdd, RefusesWhatDoesNotFit) {
  Matrix<float> x(2, 4, Floats(8, 1.f)), narrow(2, 3);
  const Floats three(3);
  EXPECT_EQ(rows::message<ShapeError>([&] { residual_add(this->ctx, narrow.in(), {}, x.view()); }),
            "residual_add: branch has shape [2, 3], expected [2, 4]");
  EXPECT_EQ(rows::message<ShapeError>(
                [&] { residual_add(this->ctx, x.in(), rows::vector(three), x.view()); }),
            "residual_add: scale has shape [3], expected [4]");
}

}  // namespace
