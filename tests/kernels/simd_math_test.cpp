#include <gtest/gtest.h>

#include <algorithm>
#include <ashlar/kernels/simd/vec_math.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/math_cases.hpp"

namespace {

namespace s = ashlar::simd;
using s::lanes;

/// Bits equal, or both NaN.
bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

/// Collects lanes and hands them to f a vector at a time, filling the last one up with zeros.
template <class F>
void each_vector(std::uint32_t step, bool nonpositive, F f) {
  float x[lanes] = {};
  int n = 0;
  math_cases::each_input(step, [&](float value) {
    if (nonpositive && value > 0) return;
    x[n++] = value;
    if (n == lanes) {
      f(x);
      n = 0;
    }
  });
  for (; n < lanes; ++n) x[n] = 0;
  f(x);
}

struct Sweep {
  template <class F, class R>
  void operator()(const char* name, F f, R reference, double bound) const {
    std::int64_t differ = 0, beyond = 0;
    float at = 0;
    each_vector(1009, nonpositive, [&](const float* x) {
      float y[lanes];
      s::store(y, f(s::load(x)));
      for (int i = 0; i < lanes; ++i) {
        if (!same(y[i], f(x[i]))) {
          ++differ;
          if (ashlar::has_fma) at = x[i];
        }
        // Without fma an argument of e^w is rounded to about |w| 2^-24 more.
        if (!ashlar::has_fma && !std::isinf(x[i])) {
          const double r = reference(static_cast<double>(x[i]));
          const double wide = 2 * bound + 2 * std::abs(std::log(std::abs(r) + 0x1p-140));
          if (std::abs(r) >= 0x1p-125 && std::abs(r) < 0x1p127 &&
              math_cases::error_in_ulps(y[i], r) > wide) {
            ++beyond;
            at = x[i];
          }
        }
      }
    });
    if (ashlar::has_fma) {
      EXPECT_EQ(differ, 0) << name << ", the last one at " << at;
    } else {
      EXPECT_EQ(beyond, 0) << name << ", the last one at " << at;
    }
  }
  bool nonpositive;
};

TEST(SimdMath, BitsOfTheScalarFunctions) { math_cases::each_function(Sweep{false}); }
TEST(SimdMath, Exp2BitsOfTheScalarFunction) { math_cases::exp2_function(Sweep{true}); }

TEST(SimdMath, SpecialValuesOnEveryInstructionSet) {
  namespace m = ashlar::math;
  const float inf = HUGE_VALF;
  const auto first = [](s::Vf v) {
    float y[lanes];
    s::store(y, v);
    return y[0];
  };
  math_cases::each_function([&](const char* name, auto f, auto, double) {
    EXPECT_TRUE(std::isnan(first(f(s::set1(NAN))))) << name;
    EXPECT_TRUE(same(first(f(s::set1(inf))), f(inf))) << name;
    EXPECT_TRUE(same(first(f(s::set1(-inf))), f(-inf))) << name;
    EXPECT_TRUE(same(first(f(s::set1(-0.0f))), f(-0.0f))) << name;
  });
  EXPECT_TRUE(same(first(m::exp2_nonpositive(s::set1(-inf))), 0.0f));
  EXPECT_TRUE(same(first(m::exp2_nonpositive(s::set1(-126.5f))), 0.0f));
  EXPECT_TRUE(std::isnan(first(m::exp2_nonpositive(s::set1(NAN)))));
}

TEST(SimdVector, FmaRoundsOnceExactlyWhenTheBuildSaysSo) {
  const volatile float source = 1 + 0x1p-12f;
  const float x = source;
  float y[lanes];
  s::store(y, s::fma(s::set1(x), s::set1(x), s::set1(-(1 + 0x1p-11f))));
  for (const float v : y) EXPECT_EQ(v, ashlar::has_fma ? 0x1p-24f : 0.0f);
}
TEST(SimdVector, ProductsAreNotFused) {
  const volatile float source = 1 + 0x1p-12f;
  const float x = source, z = source;
  float y[lanes];
  s::store(y, s::sub(s::mul(s::set1(x), s::set1(z)), s::set1(1 + 0x1p-11f)));
  for (const float v : y) EXPECT_EQ(v, 0.0f);
}

TEST(SimdVector, FoldHasTheOrderOfTheLibrary) {
  std::uint32_t state = 1;
  for (int round = 0; round < 1000; ++round) {
    float c[64];
    for (float& x : c) {
      state = state * 1664525u + 1013904223u;
      const auto mantissa = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
      x = std::ldexp(mantissa, static_cast<int>(state >> 8 & 15));
    }
    s::Vf v[64 / lanes];
    for (int i = 0; i < 64 / lanes; ++i) v[i] = s::load(c + i * lanes);
    const float top = *std::max_element(c, c + lanes);
    ASSERT_EQ(s::horizontal_max(v[0]), top);
    for (int w = 32; w > 0; w /= 2)
      for (int i = 0; i < w; ++i) c[i] += c[i + w];
    ASSERT_TRUE(same(s::fold(v), c[0])) << s::fold(v) << " " << c[0];
  }
}

/// Value of a 16-bit float by its definition.
double value_of(unsigned bits, int mantissa, int bias) {
  const int exponent = static_cast<int>(bits & 0x7fffu) >> mantissa;
  const int fraction = static_cast<int>(bits) & ((1 << mantissa) - 1);
  double v = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                           : std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
  if (exponent == 2 * bias + 1) v = fraction == 0 ? HUGE_VAL : NAN;
  return bits & 0x8000u ? -v : v;
}
TEST(SimdVector, LoadsEveryHalfAndBfloat16) {
  for (unsigned base = 0; base < 0x10000; base += lanes) {
    ashlar::half h[lanes];
    ashlar::bfloat16 b[lanes];
    for (unsigned i = 0; i < lanes; ++i)
      h[i].bits = b[i].bits = static_cast<std::uint16_t>(base + i);
    float x[lanes], y[lanes];
    s::store(x, s::load(h));
    s::store(y, s::load(b));
    for (unsigned i = 0; i < lanes; ++i) {
      const auto expected = static_cast<float>(value_of(base + i, 10, 15));
      ASSERT_TRUE(same(x[i], expected)) << base + i << ": " << x[i];
      ASSERT_TRUE(same(y[i], static_cast<float>(value_of(base + i, 7, 127)))) << base + i;
    }
  }
}

TEST(SimdVector, WidensBytes) {
  std::vector<std::uint8_t> bytes(256 + 64);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::int32_t x[lanes], y[lanes];
  for (int at = 0; at < 256; ++at) {
    s::store(x, s::load_widened(bytes.data() + at));
    s::store(y, s::load_widened(reinterpret_cast<const std::int8_t*>(bytes.data() + at)));
    for (int i = 0; i < lanes; ++i) {
      const int byte = (at + i) % 256;
      ASSERT_EQ(x[i], byte);
      ASSERT_EQ(y[i], byte < 128 ? byte : byte - 256);
    }
  }
}

TEST(SimdVector, SelectAndIota) {
  float x[lanes];
  s::store(x, s::select(s::less(s::iota(), s::set1(2.5f)), s::iota(), s::set1(-HUGE_VALF)));
  for (int i = 0; i < lanes; ++i) EXPECT_EQ(x[i], i < 3 ? static_cast<float>(i) : -HUGE_VALF);
}
TEST(SimdVector, Integers) {
  const std::int32_t values[] = {0,     1, -1, 0x7fffffff, static_cast<std::int32_t>(0x80000000),
                                 0x1234};
  for (const std::int32_t v : values) {
    const s::Vi x = s::set1(v);
    const auto u = static_cast<std::uint32_t>(v);
    std::int32_t y[lanes];
    s::store(y, s::shift_right(x, 4));
    EXPECT_EQ(static_cast<std::uint32_t>(y[lanes - 1]), u >> 4);
    s::store(y, s::shift_left(x, 4));
    EXPECT_EQ(static_cast<std::uint32_t>(y[0]), u << 4);
    s::store(y, s::add(s::bit_and(x, s::set1(15)), s::set1(-8)));
    EXPECT_EQ(y[1], static_cast<std::int32_t>(u & 15u) - 8);
    s::store(y, s::bit_xor(s::bit_or(x, s::set1(3)), s::set1(1)));
    EXPECT_EQ(static_cast<std::uint32_t>(y[0]), (u | 3u) ^ 1u);
    float f[lanes];
    s::store(f, s::to_float(x));
    EXPECT_EQ(f[0], static_cast<float>(v));
    s::store(f, s::as_float(x));
    EXPECT_TRUE(same(f[0], std::bit_cast<float>(v)));
  }
}

}  // namespace
