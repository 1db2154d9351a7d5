#include <gtest/gtest.h>

#include <algorithm>
#include <ashlar/core/dtype.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using ashlar::bfloat16;
using ashlar::half;

// The formats by their definition, in double.
template <class T>
struct Format;
template <>
struct Format<half> {
  static constexpr int mantissa = 10, bias = 15;
};
template <>
struct Format<bfloat16> {
  static constexpr int mantissa = 7, bias = 127;
};

/// Every non-negative value in the order of its bits; infinity as the power of two that would come
/// next, which is where the rounding to it begins.
template <class T>
std::vector<double> magnitudes() {
  constexpr int m = Format<T>::mantissa, bias = Format<T>::bias;
  std::vector<double> values;
  for (int bits = 0; bits <= (2 * bias + 1) << m; ++bits) {
    const int exponent = bits >> m, fraction = bits & ((1 << m) - 1);
    values.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias - m)
                                   : std::ldexp((1 << m) + fraction, exponent - bias - m));
  }
  return values;
}

/// The bits that x must round to: the nearest value, of two the one with even bits.
std::uint16_t nearest(const std::vector<double>& values, float x) {
  const double a = std::abs(static_cast<double>(x));
  const auto above = std::lower_bound(values.begin(), values.end(), a);
  auto index = static_cast<std::size_t>(above - values.begin());
  if (above == values.end()) {
    index = values.size() - 1;
  } else if (*above != a) {
    const double down = a - values[index - 1], up = values[index] - a;
    if (down < up || (down == up && index % 2 == 1)) --index;
  }
  return static_cast<std::uint16_t>(index | (std::signbit(x) ? 0x8000u : 0u));
}

template <class T>
class SixteenBits : public ::testing::Test {};
using Types = ::testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(SixteenBits, Types);

TYPED_TEST(SixteenBits, EveryValueWidensExactlyAndComesBack) {
  const std::vector<double> values = magnitudes<TypeParam>();
  const unsigned infinity = static_cast<unsigned>(values.size()) - 1;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto x = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    const float f = x;
    const unsigned magnitude = bits & 0x7fffu;
    ASSERT_EQ(std::signbit(f), bits >= 0x8000u) << bits;
    if (magnitude > infinity) {
      ASSERT_TRUE(std::isnan(f)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(f)))) << bits;
      ASSERT_EQ(TypeParam(f).bits & 0x8000u, bits & 0x8000u);
      continue;
    }
    const double expected = magnitude == infinity ? HUGE_VAL : values[magnitude];
    ASSERT_EQ(std::abs(static_cast<double>(f)), expected) << bits;
    ASSERT_EQ(TypeParam(f).bits, bits);
  }
}

TYPED_TEST(SixteenBits, RoundsToNearestAtEveryBoundary) {
  const std::vector<double> values = magnitudes<TypeParam>();
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double middle = (values[i] + values[i + 1]) / 2;
    const auto m = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(m), middle) << "the midpoint is a float";
    for (const float x : {m, std::nextafter(m, 0.0f), std::nextafter(m, HUGE_VALF),
                          std::nextafter(static_cast<float>(values[i]), HUGE_VALF)})
      for (const float y : {x, -x}) ASSERT_EQ(TypeParam(y).bits, nearest(values, y)) << y;
  }
}

TYPED_TEST(SixteenBits, RoundsToNearestOverAllExponents) {
  const std::vector<double> values = magnitudes<TypeParam>();
  for (std::uint64_t u = 0; u < (std::uint64_t{1} << 32); u += 2003) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(x)))) << u;
      ASSERT_EQ(TypeParam(x).bits >> 15, u >> 31);
    } else {
      ASSERT_EQ(TypeParam(x).bits, nearest(values, x)) << x;
    }
  }
}

TYPED_TEST(SixteenBits, NanWithLowPayloadStaysNan) {
  for (const std::uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0x7fc00000u})
    EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::bit_cast<float>(bits))))) << bits;
}

TEST(Dtype, NamedRoundings) {
  EXPECT_EQ(half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(half(65520.0f).bits, 0x7c00);  // the tie beyond the largest value
  EXPECT_EQ(half(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(half(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(half(-0.0f).bits, 0x8000);
  EXPECT_EQ(bfloat16(1.00390625f).bits, 0x3f80);  // tie, to even
  EXPECT_EQ(bfloat16(1.01171875f).bits, 0x3f82);  // tie, to even
  EXPECT_EQ(bfloat16((std::numeric_limits<float>::max)()).bits, 0x7f80);
  EXPECT_EQ(bfloat16(-0.0f).bits, 0x8000);
}

TEST(Dtype, NamesAndSizes) {
  using ashlar::DType;
  EXPECT_EQ(info(DType::bf16).name, "BF16");
  EXPECT_EQ(info(DType::q4_1).name, "Q4_1");
  EXPECT_EQ(info(DType::q8_0).elements, 32);
  EXPECT_EQ(info(DType::q8_0).bytes, 2 + 32);
  EXPECT_EQ(info(DType::q4_k).bytes, 2 * 2 + 12 + 128);
  EXPECT_EQ(info(DType::q6_k).bytes, 128 + 64 + 16 + 2);
  EXPECT_TRUE(is_quantized(DType::q4_0) && is_quantized(DType::q6_k));
  EXPECT_FALSE(is_quantized(DType::u8) || is_quantized(DType::unsupported));
  EXPECT_TRUE(is_float(DType::f64) && is_float(DType::bf16));
  EXPECT_FALSE(is_float(DType::i8));
  EXPECT_EQ(ashlar::dtype_of<half>, DType::f16);
  EXPECT_EQ(ashlar::dtype_of<char>, DType::unsupported);
}

}  // namespace
