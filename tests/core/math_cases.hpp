// The elementary functions with their references in double and their error bounds, and the inputs
// that they are swept over; shared by the scalar and the SIMD tests.
#pragma once

#include <ashlar/core/math.hpp>
#include <bit>
#include <cmath>
#include <cstdint>

#include "oracle/activations.hpp"

namespace math_cases {

/// Calls f(name, function, reference, bound in units of the last place) for every function.
template <class F>
void each_function(F f) {
  namespace m = ashlar::math;
  f(
      "exp", [](auto x) { return m::exp(x); }, [](double x) { return std::exp(x); }, 1.1);
  f(
      "sigmoid", [](auto x) { return m::sigmoid(x); }, oracle::sigmoid, 2.6);
  f(
      "tanh", [](auto x) { return m::tanh(x); }, [](double x) { return std::tanh(x); }, 2.6);
  f(
      "silu", [](auto x) { return m::silu(x); }, oracle::silu, 2.6);
  f(
      "gelu_erf", [](auto x) { return m::gelu_erf(x); }, oracle::gelu_erf, 3.8);
  f(
      "gelu_tanh", [](auto x) { return m::gelu_tanh(x); }, oracle::gelu_tanh, 2.6);
  f(
      "gelu_quick", [](auto x) { return m::gelu_quick(x); }, oracle::gelu_quick, 2.6);
  f(
      "relu", [](auto x) { return m::relu(x); }, oracle::relu, 0.0);
  f(
      "relu_squared", [](auto x) { return m::relu_squared(x); }, oracle::relu_squared, 0.5);
}
/// The exponential of attention, which is defined for x <= 0 and NaN only.
template <class F>
void exp2_function(F f) {
  f(
      "exp2_nonpositive", [](auto x) { return ashlar::math::exp2_nonpositive(x); },
      [](double x) { return std::exp2(x); }, 2.1);
}

/// Calls f with every `step`-th bit pattern and with the ends of the ranges of the functions: all
/// exponents, both signs, denormals, infinities and NaN.
template <class F>
void each_input(std::uint32_t step, F f) {
  for (std::uint64_t u = 0; u < (std::uint64_t{1} << 32); u += step)
    f(std::bit_cast<float>(static_cast<std::uint32_t>(u)));
  for (const float x : {0.0f, 1.0f, HUGE_VALF, 10.0f, 13.2f, 32.0f, 64.0f, 87.336544f, 88.722839f,
                        89.0f, 93.5f, 104.0f, 126.0f, 127.0f, 128.0f, 0x1p-126f}) {
    for (const float y : {x, std::nextafter(x, 0.0f), std::nextafter(x, HUGE_VALF)}) {
      f(y);
      f(-y);
    }
  }
}

/// Distance from the reference in units of the last place of a float there; 0 where both are NaN,
/// infinite or too large alike. A denormal reference allows anything between it and zero, of its
/// sign, and rounding to the next denormal: those results may be flushed.
inline double error_in_ulps(float got, double reference) {
  const double a = std::abs(reference);
  if (std::isnan(reference) || std::isnan(got))
    return std::isnan(reference) && std::isnan(got) ? 0 : HUGE_VAL;
  if (a >= 0x1.ffffffp127) return std::isinf(got) && (got > 0) == (reference > 0) ? 0 : HUGE_VAL;
  if (a < 0x1p-126) {
    const double g = std::signbit(got) == std::signbit(reference) ? std::abs(got) : -std::abs(got);
    return g <= a + 0x1p-149 && (g >= 0 || got == 0) ? 0 : HUGE_VAL;
  }
  int exponent = 0;
  std::frexp(reference, &exponent);
  return std::abs(got - reference) / std::ldexp(1.0, exponent - 24);
}

}  // namespace math_cases
