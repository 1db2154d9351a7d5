// Elementary functions, written once over a small set of operations, so that scalar and SIMD code
// give the same bits wherever fma rounds once.
//
// No product in this file meets an addition by itself: compilers fuse `a * b + c` or leave it as
// they like, and a result would depend on the compiler. Additions of products are written as fma.
// Worst errors are those of all 2^32 inputs against double, unless said, in units of the last place
// where the result is a normal number; denormal results are as said. For double the std functions
// are used.
#pragma once

#include <ashlar/config.hpp>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ashlar::inline ASHLAR_ABI::math {

/// The operations on V that the functions are written in.
template <class V>
struct Ops;

namespace detail {
template <class T>
struct ScalarOps {
  ASHLAR_HD static T set1(T x) { return x; }
  ASHLAR_HD static T add(T a, T b) { return a + b; }
  ASHLAR_HD static T sub(T a, T b) { return a - b; }
  /// x, hidden from the compiler, which may not fuse the product that x may be into an addition.
  ASHLAR_HD static T rounded(T x) {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<T, float>) return __fmul_rn(x, 1.0f);
#elif defined(__SSE2__)
    asm("" : "+x"(x));
#elif defined(__aarch64__)
    asm("" : "+w"(x));
#elif defined(__GNUC__)
    asm("" : "+m"(x));
#endif
    return x;
  }
  ASHLAR_HD static T mul(T a, T b) { return rounded(a * b); }
  ASHLAR_HD static T div(T a, T b) { return a / b; }
  ASHLAR_HD static T fma(T a, T b, T c) { return std::fma(a, b, c); }
  ASHLAR_HD static bool less(T a, T b) { return a < b; }
  ASHLAR_HD static T select(bool mask, T a, T b) { return mask ? a : b; }
  ASHLAR_HD static T abs(T x) { return std::fabs(x); }
  ASHLAR_HD static T negate(T x) { return -x; }
  ASHLAR_HD static T copy_sign(T x, T sign) { return std::copysign(x, sign); }
};
}  // namespace detail

template <>
struct Ops<double> : detail::ScalarOps<double> {};

template <>
struct Ops<float> : detail::ScalarOps<float> {
  /// p * 2^n for the integer n in [-126, 127] that is stored as 1.5 * 2^23 + n; exact.
  ASHLAR_HD static float scale2(float p, float shifted) {
    const std::uint32_t power = (__builtin_bit_cast(std::uint32_t, shifted) << 23) + 0x3f800000u;
    return p * __builtin_bit_cast(float, power);
  }
};

namespace detail {

/// Added to a float and taken away again, rounds it to the nearest integer, ties to even; the sum
/// itself holds that integer in its low bits.
inline constexpr float shifter = 12582912.0f;  // 1.5 * 2^23
inline constexpr float log2_e = 1.44269502f;
inline constexpr float ln2_high = 0.693359375f;  // 10 bits: n * ln2_high is exact
inline constexpr float ln2_low = -2.12194442e-4f;

/// Polynomial by Horner's rule, highest coefficient first.
template <class V, class... C>
ASHLAR_HD ASHLAR_INLINE V horner(V x, float first, C... rest) {
  V p = Ops<V>::set1(first);
  ((p = Ops<V>::fma(p, x, Ops<V>::set1(rest))), ...);
  return p;
}

/// An exponential in parts: (1 + q) * 2^n with n stored in `shifted`. Garbage for arguments
/// beyond about +-10^6, infinities included, which the callers replace; NaN stays NaN.
template <class V>
struct Exponential {
  V q, shifted;
};

/// e^f - 1 for |f| <= 0.347; relative error 2^-26 before rounding.
template <class V>
ASHLAR_HD ASHLAR_INLINE V expm1_reduced(V f) {
  const V p = horner(f, 1.3938271e-3f, 8.36656e-3f, 4.166643e-2f, 0.16666543f, 0.5f);
  return Ops<V>::fma(Ops<V>::mul(f, f), p, f);
}

/// e^x
template <class V>
ASHLAR_HD ASHLAR_INLINE Exponential<V> exponential(V x) {
  using O = Ops<V>;
  const V shifted = O::fma(x, O::set1(log2_e), O::set1(shifter));
  const V n = O::sub(shifted, O::set1(shifter));
  const V f = O::fma(n, O::set1(-ln2_low), O::fma(n, O::set1(-ln2_high), x));
  return {expm1_reduced(f), shifted};
}
/// e^(x * (high + low)): the product is needed to more digits than a float has, as its absolute
/// error is the relative error of the result.
template <class V>
ASHLAR_HD ASHLAR_INLINE Exponential<V> exponential(V x, V high, V low) {
  using O = Ops<V>;
  const V shifted = O::fma(O::mul(x, high), O::set1(log2_e), O::set1(shifter));
  const V n = O::sub(shifted, O::set1(shifter));
  V f = O::fma(x, high, O::mul(n, O::set1(-ln2_high)));
  f = O::fma(n, O::set1(-ln2_low), O::fma(x, low, f));
  return {expm1_reduced(f), shifted};
}

/// x / (1 + e^-w) from the parts of e^-w. Divides by 2^-8 (1 + e^-w), as e^-w itself overflows
/// where x * e^w is still a normal number.
template <class V>
ASHLAR_HD ASHLAR_INLINE V gate(V x, V w, Exponential<V> e) {
  using O = Ops<V>;
  const V shrink = O::set1(0x1p-8f);
  const V power = O::scale2(O::set1(1.0f), O::sub(e.shifted, O::set1(8.0f)));
  const V divisor = O::fma(O::add(e.q, O::set1(1.0f)), power, shrink);
  const V y = O::mul(O::div(x, divisor), shrink);
  return O::select(O::less(O::set1(32.0f), w), x,
                   O::select(O::less(w, O::set1(-93.5f)), O::set1(-0.0f), y));
}
/// The same for double. Below -708 the result is -0, as it is at -inf.
ASHLAR_HD inline double gate(double x, double w) {
  return w < -708 ? -0.0 : x / (1 + std::exp(-w));
}

template <class V>
inline constexpr bool is_double = std::is_same_v<V, double>;

}  // namespace detail

/// 2^x for x <= 0, the exponential of attention: below -126 it is +0, so that no weight is ever
/// denormal and a hidden key (x = -inf) counts for nothing. NaN stays NaN. Worst error 2.04 ulp.
/// The polynomial is part of the order of accumulation: other coefficients, other results.
template <class V>
ASHLAR_HD ASHLAR_INLINE V exp2_nonpositive(V x) {
  if constexpr (detail::is_double<V>) {
    return std::exp2(x);
  } else {
    using O = Ops<V>;
    x = O::rounded(x);
    const V shifted = O::add(x, O::set1(detail::shifter));
    const V f = O::sub(x, O::sub(shifted, O::set1(detail::shifter)));
    const V p = detail::horner(f, 1.32647273e-3f, 9.67151299e-3f, 5.55073358e-2f, 0.240222424f,
                               0.693147004f, 1.0f);
    return O::select(O::less(x, O::set1(-126.0f)), O::set1(0.0f), O::scale2(p, shifted));
  }
}

/// e^x over the whole range of float, denormal results included. Worst error 1.05 ulp.
template <class V>
ASHLAR_HD ASHLAR_INLINE V exp(V x) {
  if constexpr (detail::is_double<V>) {
    return std::exp(x);
  } else {
    using O = Ops<V>;
    const V shifter = O::set1(detail::shifter);
    const detail::Exponential<V> e = detail::exponential(x);
    // n leaves the range of one power of two at both ends: apply it in two halves.
    const V first = O::fma(O::sub(e.shifted, shifter), O::set1(0.5f), shifter);
    const V second = O::sub(e.shifted, O::sub(first, shifter));
    const V y = O::scale2(O::scale2(O::add(e.q, O::set1(1.0f)), first), second);
    return O::select(O::less(O::set1(89.0f), x), O::set1(HUGE_VALF),
                     O::select(O::less(x, O::set1(-104.0f)), O::set1(0.0f), y));
  }
}

/// 1 / (1 + e^-x). Results below 2^-126 are +0. Worst error 2.49 ulp.
template <class V>
ASHLAR_HD ASHLAR_INLINE V sigmoid(V x) {
  if constexpr (detail::is_double<V>) {
    return 1 / (1 + std::exp(-x));
  } else {
    using O = Ops<V>;
    const V one = O::set1(1.0f);
    const detail::Exponential<V> e = detail::exponential(O::negate(x));
    const V y = O::div(one, O::add(O::scale2(O::add(e.q, one), e.shifted), one));
    return O::select(O::less(O::set1(32.0f), x), one,
                     O::select(O::less(x, O::set1(-87.336544f)), O::set1(0.0f), y));
  }
}

/// tanh x = -m / (2 + m) with m = e^(-2|x|) - 1, which is exact to the last digits near 0 and
/// cannot overflow. Worst error 2.50 ulp.
template <class V>
ASHLAR_HD ASHLAR_INLINE V tanh(V x) {
  if constexpr (detail::is_double<V>) {
    return std::tanh(x);
  } else {
    using O = Ops<V>;
    const V one = O::set1(1.0f), a = O::abs(x);
    const detail::Exponential<V> e = detail::exponential(O::mul(O::set1(-2.0f), a));
    const V power = O::scale2(one, e.shifted);
    const V m = O::fma(power, e.q, O::sub(power, one));
    const V y = O::div(O::negate(m), O::add(m, O::set1(2.0f)));
    return O::copy_sign(O::select(O::less(O::set1(10.0f), a), one, y), x);
  }
}

/// SiLU, x / (1 + e^-x). -0 at -inf, +inf at +inf; below -93.5 (a denormal result) -0.
/// Worst error 2.41 ulp.
template <class V>
ASHLAR_HD ASHLAR_INLINE V silu(V x) {
  if constexpr (detail::is_double<V>) {
    return detail::gate(x, x);
  } else {
    return detail::gate(x, x, detail::exponential(Ops<V>::negate(x)));
  }
}

/// GELU by its definition, x * Phi(x) with the normal distribution function Phi
/// (Hendrycks and Gimpel, 2016). For a = |x| the tail a * Phi(-a) is e^(-a^2/2) * h * P(h) with
/// h = a / (1 + 11/32 a), so nothing cancels on the left. Below -13.2 (a denormal result) -0.
/// Worst error 3.80 ulp.
template <class V>
ASHLAR_HD ASHLAR_INLINE V gelu_erf(V x) {
  if constexpr (detail::is_double<V>) {
    return x < -40 ? -0.0 : 0.5 * x * std::erfc(-0.70710678118654752440 * x);
  } else {
    using O = Ops<V>;
    x = O::rounded(x);
    const V a = O::abs(x);
    const detail::Exponential<V> e =
        detail::exponential(a, O::mul(a, O::set1(-0.5f)), O::set1(0.0f));
    const V h = O::div(a, O::fma(a, O::set1(0.34375f), O::set1(1.0f)));
    const V p = detail::horner(O::sub(h, O::set1(0.75f)), -5.5161813e-06f, 1.2444015e-05f,
                               7.663988e-05f, -3.9786875e-05f, -1.5106307e-03f, -1.1840869e-04f,
                               3.91915e-02f, -1.7047809e-01f, 3.5050336e-01f);
    const V y = O::mul(h, p);
    const V tail = O::select(O::less(O::set1(13.2f), a), O::set1(0.0f),
                             O::scale2(O::fma(y, e.q, y), e.shifted));
    return O::select(O::less(x, O::set1(0.0f)), O::negate(tail), O::sub(x, tail));
  }
}

/// GELU's tanh form, x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as x / (1 + e^-w) with twice
/// the argument of tanh: 1 + tanh would cancel on the left. -0 where the result is denormal.
/// Worst error 2.43 ulp (every 257th input below 2^-30 and above 128, all between).
template <class V>
ASHLAR_HD ASHLAR_INLINE V gelu_tanh(V x) {
  if constexpr (detail::is_double<V>) {
    return detail::gate(x, 1.5957691216057307117597842397375 * x * (1 + 0.044715 * x * x));
  } else {
    // w = x (a + b x^2), with the bracket as high + low. `a` has 20 bits, so that high - a is
    // exact.
    using O = Ops<V>;
    constexpr float a = 1.5957698822021484f, a_low = -7.6059644e-7f;
    constexpr float b = 7.13548139e-2f, b_low = 2.39883247e-9f;
    const V square = O::mul(x, x);
    const V square_low = O::fma(x, x, O::negate(square));
    const V high = O::fma(O::set1(b), square, O::set1(a));
    V low = O::fma(O::set1(b_low), square, O::set1(a_low));
    low = O::fma(O::set1(b), square_low, low);
    low = O::add(O::fma(O::set1(b), square, O::sub(O::set1(a), high)), low);
    return detail::gate(x, O::mul(x, high), detail::exponential(O::negate(x), high, low));
  }
}

/// "Quick" GELU, x / (1 + e^(-1.702 x)). -0 where the result is denormal.
/// Worst error 2.45 ulp (inputs as for gelu_tanh).
template <class V>
ASHLAR_HD ASHLAR_INLINE V gelu_quick(V x) {
  if constexpr (detail::is_double<V>) {
    return detail::gate(x, 1.702 * x);
  } else {
    using O = Ops<V>;
    const V high = O::set1(1.70200002f), low = O::set1(-2.19345093e-8f);
    return detail::gate(x, O::mul(x, high), detail::exponential(O::negate(x), high, low));
  }
}

/// max(x, 0); NaN stays NaN.
template <class V>
ASHLAR_HD ASHLAR_INLINE V relu(V x) {
  using O = Ops<V>;
  const V zero = O::set1(0);
  return O::select(O::less(x, zero), zero, x);
}

/// max(x, 0)^2
template <class V>
ASHLAR_HD ASHLAR_INLINE V relu_squared(V x) {
  const V y = relu(x);
  return Ops<V>::mul(y, y);
}

}  // namespace ashlar::inline ASHLAR_ABI::math
