// The harness tests itself: a comparator that accepts too much hides every other fault.
#include "compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "poison.hpp"
#include "random.hpp"

namespace {

using support::all_close;
using support::all_within;
using support::same_bits;
using Floats = std::vector<float>;

const float nan = std::numeric_limits<float>::quiet_NaN();
const float infinity = std::numeric_limits<float>::infinity();

TEST(Compare, NanOnOneSideFails) {
  EXPECT_FALSE(all_close(Floats{1}, Floats{nan}, 1e30));
  EXPECT_FALSE(all_close(Floats{nan}, Floats{1}, 1e30));
  EXPECT_FALSE(all_close(Floats{0, nan}, Floats{0, infinity}, 1e30));
  EXPECT_TRUE(all_close(Floats{nan}, Floats{nan}, 0));
}

TEST(Compare, InfinitiesAgreeOnlyInSign) {
  EXPECT_TRUE(all_close(Floats{-infinity}, Floats{-infinity}, 0));
  EXPECT_FALSE(all_close(Floats{-infinity}, Floats{infinity}, 1e30));
  EXPECT_FALSE(all_close(Floats{3e38f}, Floats{infinity}, HUGE_VAL));
  EXPECT_FALSE(all_close(Floats{infinity}, Floats{3e38f}, HUGE_VAL));
}

TEST(Compare, AnotherSizeFails) {
  EXPECT_FALSE(all_close(Floats{1, 2}, Floats{1}, 1));
  EXPECT_FALSE(all_close(Floats{1}, Floats{1, 2}, 1));
  EXPECT_FALSE(all_close(Floats{}, Floats{1}, 1));
  EXPECT_FALSE(same_bits(Floats{1, 2}, Floats{1}));
  EXPECT_FALSE(all_within(Floats{1}, Floats{1}, Floats{}));
  EXPECT_TRUE(all_close(Floats{}, Floats{}, 0));
}

TEST(Compare, ToleranceIsABound) {
  EXPECT_TRUE(all_close(Floats{1.5f}, Floats{1}, 0.5));
  EXPECT_FALSE(all_close(Floats{1.5f}, Floats{1}, 0.49));
  EXPECT_FALSE(all_close(Floats{1, 2, 3.1f}, Floats{1, 2, 3}, 0.05));
  EXPECT_TRUE(all_within(Floats{1.5f, 7}, Floats{1, 7}, std::vector<double>{0.5, 0}));
  EXPECT_FALSE(all_within(Floats{1.5f, 7.5f}, Floats{1, 7}, std::vector<double>{0.5, 0}));
}

TEST(Compare, BrokenToleranceFails) {
  EXPECT_FALSE(all_close(Floats{1}, Floats{1}, std::nan("")));
  EXPECT_FALSE(all_close(Floats{1}, Floats{1}, -1));
  EXPECT_FALSE(all_within(Floats{1}, Floats{1}, Floats{nan}));
}

TEST(Compare, LargestMagnitudeSkipsWhatIsNotFinite) {
  EXPECT_EQ(support::max_magnitude(Floats{nan, -3, infinity, 2}), 3.0);
  EXPECT_TRUE(support::all_close_to_largest(Floats{100, 1e-4f}, Floats{100, 0}, 4e-6));
  EXPECT_FALSE(support::all_close_to_largest(Floats{100, 1e-3f}, Floats{100, 0}, 4e-6));
}

TEST(Compare, BitsTellZerosApart) {
  EXPECT_TRUE(all_close(Floats{0.0f}, Floats{-0.0f}, 0));
  EXPECT_FALSE(same_bits(Floats{0.0f}, Floats{-0.0f}));
  EXPECT_TRUE(same_bits(Floats{nan, 1}, Floats{nan, 1}));
  EXPECT_NE(support::hash_bits(Floats{0.0f}), support::hash_bits(Floats{-0.0f}));
  EXPECT_NE(support::hash_bits(Floats{1, 2}), support::hash_bits(Floats{2, 1}));
  EXPECT_EQ(support::hash_bits(std::vector<std::uint8_t>{'a'}),
            0xaf63dc4c8601ec8cu);  // published FNV-1a
}

TEST(Compare, SquareErrorDoesNotAcceptNan) {
  EXPECT_FALSE(support::normalised_square_error(Floats{nan}, Floats{1}) < 1);
  EXPECT_FALSE(support::normalised_square_error(Floats{1}, Floats{0}) < 1);
  EXPECT_FALSE(support::normalised_square_error(Floats{1}, Floats{1, 1}) < 1);
  EXPECT_DOUBLE_EQ(support::normalised_square_error(Floats{3}, Floats{2}), 0.25);
}

TEST(Compare, FailureNamesTheWorstElement) {
  const auto result = all_close(Floats{1, 5, 3}, Floats{1, 2, 2}, 0.1);
  EXPECT_NE(std::string(result.message()).find("2 of 3"), std::string::npos) << result.message();
  EXPECT_NE(std::string(result.message()).find("worst at 1"), std::string::npos)
      << result.message();
}

TEST(PoisonDeathTest, TheEndIsGuarded) {
  support::PoisonedBuffer<float> buffer(5);
  for (std::ptrdiff_t i = 0; i < 5; ++i) buffer[i] = 1;
  volatile float* end = buffer.data() + 5;
  EXPECT_DEATH(*end = 1, "");
}

TEST(Poison, StartsAsNan) {
  support::PoisonedBuffer<float> floats(3);
  support::PoisonedBuffer<double> doubles(3);
  EXPECT_TRUE(std::isnan(floats[0]) && std::isnan(floats[2]));
  EXPECT_TRUE(std::isnan(doubles[0]) && std::isnan(doubles[2]));
}

TEST(Poison, GapsKeepTheirPoisonAndValuesTheirOrder) {
  support::PoisonedTensor<float, 3> tensor({2, 3, 4}, 5, 7);
  EXPECT_EQ(tensor.strides()[2], 1);
  EXPECT_EQ(tensor.strides()[1], 9);
  EXPECT_EQ(tensor.strides()[0], 3 * 9 + 7);
  Floats values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i));
  tensor.assign(std::span<const float>(values));
  EXPECT_TRUE(same_bits(tensor.values<Floats>(), values));
  EXPECT_EQ(tensor.data()[1 * 34 + 2 * 9 + 3], 23.0f);
  EXPECT_TRUE(std::isnan(tensor.data()[4]));
  EXPECT_TRUE(tensor.gaps_intact());
  tensor.data()[4] = nan;  // another NaN is a write all the same
  EXPECT_FALSE(tensor.gaps_intact());
}

TEST(Random, SameSeedSameNumbersAndFloatExact) {
  support::Random a(7), b(7), c(8);
  EXPECT_TRUE(same_bits(a.normals<double>(50), b.normals<double>(50)));
  EXPECT_NE(a.seed(), c.seed());
  for (const double x : c.normals<double>(50, 3, 1))
    EXPECT_EQ(x, static_cast<double>(static_cast<float>(x)));
  for (int i = 0; i < 100; ++i) {
    const auto n = a.integer(-2, 3);
    EXPECT_TRUE(-2 <= n && n <= 3);
  }
}

}  // namespace
