// Score functors by themselves: slopes, roundings and buckets.
#include <gtest/gtest.h>

#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/scaled_alibi.hpp>
#include <ashlar/attention/score/t5_bias.hpp>
#include <cmath>
#include <cstring>

#include "oracle/attention.hpp"
#include "support/compare.hpp"
#include "support/random.hpp"

namespace ashlar {
namespace {

using Floats = std::vector<float>;

VectorView<const float> view(const Floats& v) {
  return {v.data(), {static_cast<index_t>(v.size())}};
}

TEST(AlibiSlopes, BothOrdersForEveryNumberOfHeads) {
  for (const double maximum : {8.0, 4.0})
    for (index_t heads = 1; heads <= 70; ++heads) {
      Floats bloom, mpt;
      for (const double x : oracle::alibi_slopes(heads, false, maximum))
        bloom.push_back(static_cast<float>(x));
      for (const double x : oracle::alibi_slopes(heads, true, maximum))
        mpt.push_back(static_cast<float>(x));
      EXPECT_TRUE(support::same_bits(alibi_slopes(heads, AlibiOrder::bloom, maximum), bloom))
          << heads;
      EXPECT_TRUE(support::same_bits(alibi_slopes(heads, AlibiOrder::mpt, maximum), mpt)) << heads;
    }
  // By hand: four of 2^-1, 2^-2, 2^-3, 2^-4 .. and the odd halves between.
  EXPECT_TRUE(support::same_bits(alibi_slopes(5, AlibiOrder::mpt),
                                 Floats{0.25f, 0.0625f, 0.015625f, 0.00390625f, 0.5f}));
  EXPECT_TRUE(
      support::same_bits(alibi_slopes(3, AlibiOrder::mpt), Floats{0.0625f, 0.00390625f, 0.25f}));
  EXPECT_THROW(alibi_slopes(0, AlibiOrder::mpt), ValueError);
  EXPECT_THROW(alibi_slopes(2, AlibiOrder::mpt, 0), ValueError);
}

/// Rounded to 8 significant bits, ties to even: to bfloat16, by the digits.
double to_bfloat16(double x) {
  int exponent;
  const double digits = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(digits, 8)), exponent - 8);
}
TEST(ScaledAlibi, SlopePositionAndProductAreRounded) {
  support::Random random(1);
  Floats slopes = {1.f, 0.f, 0.00390625f, 1.00390625f, 1.01171875f, 1.99609375f, 1.998f};
  for (int i = 0; i < 60; ++i)
    slopes.push_back(static_cast<float>(std::exp2(random.uniform(-12, 0))));
  const ScaledAlibi score(view(slopes), 0.25f);
  for (index_t k = 0; k < 70000; k += k < 2100 ? 1 : 37)
    for (index_t h = 0; h < std::ssize(slopes); ++h) {
      const double slope = to_bfloat16(double{slopes[static_cast<std::size_t>(h)]});
      const double bias = to_bfloat16(slope * to_bfloat16(static_cast<double>(k)));
      ASSERT_EQ(score(0.f, 0, h, index_t{0}, k), static_cast<float>(bias) * 0.25f)
          << slopes[static_cast<std::size_t>(h)] << " k " << k;
      ASSERT_EQ(score(3.0, 0, h, k, k), (bias + 3) * 0.25) << k;
    }
  EXPECT_EQ(score(0.f, 0, 0, index_t{0}, index_t{257}), 64.f);  // 257 is between 256 and 258
  EXPECT_EQ(score(0.f, 0, 0, index_t{0}, index_t{259}), 65.f);  // 259 between 258 and 260
}
TEST(ScaledAlibi, EveryMantissaRoundsAsBfloat16) {
  Floats slopes(1);
  const ScaledAlibi score(view(slopes), 1.f);
  for (const std::uint32_t exponent : {100u, 120u, 127u, 140u})
    for (std::uint32_t mantissa = 0; mantissa < (1u << 23); mantissa += 3) {
      std::uint32_t bits = exponent << 23 | mantissa;
      std::memcpy(slopes.data(), &bits, sizeof bits);
      bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
      float expected;
      std::memcpy(&expected, &bits, sizeof bits);
      ASSERT_EQ(score(0.f, 0, 0, index_t{0}, index_t{1}), expected) << slopes[0];
    }
}
TEST(ScaledAlibi, RefusesAScaleThatIsNone) {
  const Floats slopes = {1.f};
  for (const float scale : {0.f, -1.f, HUGE_VALF, NAN})
    EXPECT_THROW(ScaledAlibi(view(slopes), scale), ValueError) << scale;
}

TEST(T5Buckets, AgreeWithTheOracle) {
  struct {
    index_t buckets, maximum;
  } const sizes[] = {{32, 128}, {8, 20}, {4, 3}, {12, 1000}, {320, 800}, {64, 65}, {16, 17}};
  for (const auto& [buckets, maximum] : sizes)
    for (const bool bidirectional : {true, false}) {
      if (maximum <= buckets / (bidirectional ? 4 : 2)) continue;
      const T5Buckets map(buckets, maximum, bidirectional);
      EXPECT_EQ(map.buckets(), buckets);
      for (index_t d = -2 * maximum - 9; d <= 2 * maximum + 9; ++d)
        ASSERT_EQ(map(d), oracle::t5_bucket(d, bidirectional, buckets, maximum))
            << d << " of " << buckets << ", " << maximum;
    }
  // By hand, 32 buckets to 128: borders at 8, 8 sqrt(2), 16, .., 64 sqrt(2) and 128.
  const T5Buckets both(32, 128, true), causal(32, 128, false);
  const index_t ends[] = {0, 7, 8, 11, 12, 15, 16, 22, 23, 31, 32, 45, 46, 63, 64, 90, 91, 5000};
  const index_t of[] = {0, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15};
  for (std::size_t i = 0; i < std::size(ends); ++i) {
    EXPECT_EQ(both(-ends[i]), of[i]) << ends[i];
    EXPECT_EQ(both(ends[i]), ends[i] ? 16 + of[i] : 0) << ends[i];
    EXPECT_EQ(causal(ends[i]), 0) << ends[i];
  }
  EXPECT_EQ(causal(-15), 15);
  EXPECT_EQ(causal(-16), 16);
  EXPECT_EQ(causal(-128), 31);
}
TEST(T5Buckets, RefuseWhatMakesNoBuckets) {
  EXPECT_THROW(T5Buckets(1, 9, false), ValueError);
  EXPECT_THROW(T5Buckets(2, 9, true), ValueError);
  EXPECT_THROW(T5Buckets(7, 9, true), ValueError);
  EXPECT_THROW(T5Buckets(32, 8, true), ValueError);
  EXPECT_THROW(T5Buckets(32, (index_t{1} << 20) + 1, true), ValueError);
  EXPECT_NO_THROW(T5Buckets(7, 9, false));
  EXPECT_NO_THROW(T5Buckets(32, 9, true));
}
TEST(T5RelativeBias, AddsTheEntryOfItsHead) {
  const T5Buckets buckets(8, 20, true);
  Floats memory(8 * 7, NAN);  // 3 heads in rows of 7
  for (index_t b = 0; b < 8; ++b)
    for (index_t h = 0; h < 3; ++h)
      memory[static_cast<std::size_t>(b * 7 + h)] = static_cast<float>(10 * b + h);
  const MatrixView<const float> table(memory.data(), {8, 3}, {7, 1});
  const T5RelativeBias score(buckets, table);
  for (const index_t h : {0, 2})
    for (const index_t q : {0, 5, 1000000})
      for (const index_t k : {0, 3, 5, 6, 40, 999990, 1000030}) {
        const index_t bucket = oracle::t5_bucket(k - q, true, 8, 20);
        EXPECT_EQ(score(0.5f, 1, h, q, k), 0.5f + static_cast<float>(10 * bucket + h));
        EXPECT_EQ(score(0.5, 1, h, q, k), 0.5 + static_cast<double>(10 * bucket + h));
      }
  EXPECT_THROW(T5RelativeBias(buckets, table.slice(0, 0, 7)), ShapeError);
}

}  // namespace
}  // namespace ashlar
