#include "oracle/rope.hpp"

#include <ashlar/ops/rms_norm.hpp>
#include <ashlar/ops/rope.hpp>

#include "oracle/norms.hpp"
#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats, rows::Vec;
using Positions = std::vector<index_t>;

template <class A>
struct Table {
  Table(const RopeFrequencies& f, const Positions& positions)
      : pairs(static_cast<index_t>(f.inverse.size())),
        rows(static_cast<index_t>(positions.size())),
        data(static_cast<std::size_t>(rows * 2 * pairs)) {
    rope_table(f, rows::vector(positions), TensorView<A, 3>(data.data(), {rows, 2, pairs}));
  }
  TensorView<const A, 3> view() const { return {data.data(), {rows, 2, pairs}}; }
  index_t pairs, rows;
  std::vector<A> data;
};

template <class B>
struct Rope : rows::Op<B> {
  template <class T>
  std::vector<T> run(const std::vector<T>& values, const Positions& positions, index_t N, index_t H,
                     const RopeFrequencies& f, RopePairing pairing) {
    const Table<accumulator_t<T>> table(f, positions);
    support::PoisonedTensor<T, 3> x({table.rows, N, H}, 3, 5);
    x.assign(std::span<const T>(values));
    rope(this->ctx, table.view(), pairing, TensorView<T, 3>(x.data(), x.extents(), x.strides()));
    EXPECT_TRUE(x.gaps_intact());
    return x.template values<std::vector<T>>();
  }

  template <class T>
  void expect_oracle() {
    const Positions positions = {0, 1, 7, 4095, 131071};
    for (const auto pairing : {RopePairing::half_split, RopePairing::interleaved})
      for (const index_t r : {2, 4, 6, 14, 32, 34, 64, 128})
        for (const index_t rest : {0, 3}) {
          const index_t N = 3, H = r + rest;
          const auto x = support::Random(static_cast<std::uint64_t>(H)).normals<T>(5 * N * H);
          const Vec expected =
              oracle::rope(rows::doubles(x), positions, N, H, oracle::rope_table(1e4, r, H),
                           pairing == RopePairing::interleaved);
          // Angles in double are good to position * 2^-53: not to the last digit of a double.
          const double budget = 6 * 8 * rows::rounding<T> + (sizeof(T) == 8 ? 6e-10 : 0);
          EXPECT_TRUE(support::all_close(run(x, positions, N, H, rope_frequencies(1e4, r), pairing),
                                         expected, budget))
              << "r " << r << ", H " << H;
        }
  }
};
TYPED_TEST_SUITE(Rope, rows::Backends);

TYPED_TEST(Rope, AgreesWithTheOracleInFloat) { this->template expect_oracle<float>(); }
TYPED_TEST(Rope, AgreesWithTheOracleInDouble) { this->template expect_oracle<double>(); }

TYPED_TEST(Rope, ContractV8PairingIsExplicit) {
  const Floats x = {1, 0, 0, 0};
  const RopeFrequencies f = rope_frequencies(1e4, 4);
  EXPECT_TRUE(support::all_close(this->run(x, {1}, 1, 4, f, RopePairing::half_split),
                                 Floats{0.540302f, 0, 0.841471f, 0}, 1e-6));
  EXPECT_TRUE(support::all_close(this->run(x, {1}, 1, 4, f, RopePairing::interleaved),
                                 Floats{0.540302f, 0.841471f, 0, 0}, 1e-6));
}
TYPED_TEST(Rope, ContractV8PartialWidthTurnsItsOwnPairsOnly) {
  const Floats x = {1, 2, 3, 4, 5, 6, 7, 8};
  const Floats y = this->run(x, {1}, 1, 8, rope_frequencies(1e4, 4), RopePairing::half_split);
  const double c1 = std::cos(1), s1 = std::sin(1), c2 = std::cos(0.01), s2 = std::sin(0.01);
  const Vec turned = {c1 - 3 * s1, 2 * c2 - 4 * s2, 3 * c1 + s1, 4 * c2 + 2 * s2};
  EXPECT_TRUE(support::all_close(Floats(y.begin(), y.begin() + 4), turned, 1e-6));
  EXPECT_TRUE(support::same_bits(Floats(y.begin() + 4, y.end()), Floats{5, 6, 7, 8}));
}
TYPED_TEST(Rope, ContractV8WidthZeroChangesNothing) {
  const Floats x = {1, -2, 3};
  EXPECT_TRUE(support::same_bits(
      this->run(x, {5}, 1, 3, rope_frequencies(1e4, 0), RopePairing::half_split), x));
}
TYPED_TEST(Rope, ContractV8PositionsBelongToRows) {
  const Floats x = {1, 0, 1, 0, 1, 0};
  const Floats y = this->run(x, {3, 0, 3}, 1, 2, rope_frequencies(1e4, 2), RopePairing::half_split);
  EXPECT_TRUE(support::same_bits(Floats(y.begin(), y.begin() + 2), Floats(y.begin() + 4, y.end())));
  EXPECT_TRUE(support::same_bits(Floats(y.begin() + 2, y.begin() + 4), Floats{1, 0}));
  EXPECT_NEAR(y[0], std::cos(3.0), 1e-7);
}
TYPED_TEST(Rope, MagnitudeScalesCosineAndSine) {
  RopeFrequencies f = rope_frequencies(1e4, 2);
  f.magnitude = 1.5;
  const Floats y = this->run(Floats{1, 2}, {1}, 1, 2, f, RopePairing::interleaved);
  EXPECT_TRUE(support::all_close(
      y, Vec{1.5 * (std::cos(1) - 2 * std::sin(1)), 1.5 * (2 * std::cos(1) + std::sin(1))}, 1e-6));
}

/// Large raw queries in bfloat16, normalised and then turned: three roundings and no more.
TYPED_TEST(Rope, ContractV9NormaliseLargeValuesThenRotate) {
  const index_t M = 4, H = 64;
  std::vector<bfloat16> q;
  for (const float v : support::Random(9).normals<float>(M * H, 1e4)) q.emplace_back(v);
  const Positions positions = {0, 100, 4095, 131071};
  const Vec unit = oracle::rms_norm(rows::doubles(q), M, H, 1e-6);
  const Vec expected = oracle::rope(unit, positions, 1, H, oracle::rope_table(1e4, H, H));
  const MatrixView<bfloat16> heads(q.data(), {M, H});
  rms_norm(this->ctx, MatrixView<const bfloat16>(heads), {}, heads, 1e-6f);
  const auto y = this->run(q, positions, 1, H, rope_frequencies(1e4, H), RopePairing::half_split);
  Vec budget;
  for (index_t m = 0; m < M; ++m)
    for (index_t i = 0; i < H; ++i) {
      const auto at = [&](index_t k) { return std::abs(unit[oracle::to_size(m * H + k % H)]); };
      budget.push_back(2.1 * 0x1p-8 * (at(i) + at(i + H / 2)));
    }
  EXPECT_TRUE(support::all_within(y, expected, budget));
}

TYPED_TEST(Rope, RefusesWhatDoesNotFit) {
  const Table<float> table(rope_frequencies(1e4, 8), {0, 1});
  Floats x(48);
  const auto turn = [&](index_t M, index_t H) {
    return rows::message<ShapeError>([&] {
      rope(this->ctx, table.view(), RopePairing::half_split,
           TensorView<float, 3>(x.data(), {M, 2, H}));
    });
  };
  EXPECT_EQ(turn(3, 8), "rope: table has shape [2, 2, 4], expected [3, 2, 4]");
  EXPECT_EQ(turn(2, 7), "rope: rotary width is 8, expected at most the head's 7");
}

TEST(RopeTable, ContractV8AnglesAreExactAtEveryPosition) {
  for (const index_t position : {0, 1, 40, 4095, 16383, 131071, 1000000})
    for (const double theta : {1e4, 5e5, 1e6}) {
      const Table<float> table(rope_frequencies(theta, 128), {position});
      for (index_t i = 0; i < 64; ++i) {
        const long double angle =
            static_cast<long double>(position) *
            std::pow(static_cast<long double>(theta), -static_cast<long double>(i) / 64);
        EXPECT_NEAR(table.view()(0, 0, i), static_cast<double>(std::cos(angle)), 6e-8);
        EXPECT_NEAR(table.view()(0, 1, i), static_cast<double>(std::sin(angle)), 6e-8);
      }
    }
}
TEST(RopeTable, ContractV8FrequenciesArePowersInDouble) {
  for (const double theta : {1e4, 5e5}) {
    const RopeFrequencies f = rope_frequencies(theta, 128);
    ASSERT_EQ(f.inverse.size(), 64u);
    for (std::size_t i = 0; i < 64; ++i) {
      const long double exact =
          std::pow(static_cast<long double>(theta), -static_cast<long double>(i) / 64);
      EXPECT_NEAR(f.inverse[i] / static_cast<double>(exact), 1, 3e-16) << i;
    }
  }
}
TEST(RopeTable, RefusesWidthsAndShapesThatAreNone) {
  EXPECT_EQ(rows::message<ValueError>([] { rope_frequencies(1e4, 3); }),
            "rope: rotary width is 3, expected an even number of at least 0");
  EXPECT_EQ(rows::message<ValueError>([] { rope_frequencies(1e4, -2); }),
            "rope: rotary width is -2, expected an even number of at least 0");
  EXPECT_EQ(rows::message<ValueError>([] { rope_frequencies(0, 4); }),
            "rope: theta is 0, expected above 0");
  EXPECT_NE(rows::message<ValueError>([] { rope_frequencies(NAN, 4); }), "");
  Floats data(8);
  const Positions positions = {0, 1};
  EXPECT_EQ(rows::message<ShapeError>([&] {
              rope_table(rope_frequencies(1e4, 4), rows::vector(positions),
                         TensorView<float, 3>(data.data(), {1, 2, 2}));
            }),
            "rope_table: table has shape [1, 2, 2], expected [2, 2, 2]");
}

}  // namespace
