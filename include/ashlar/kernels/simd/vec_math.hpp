// The elementary functions of core/math.hpp on vectors.
#pragma once

#include <ashlar/core/math.hpp>
#include <ashlar/kernels/simd/vec.hpp>

namespace ashlar::inline ASHLAR_ABI::math {

/// core/math.hpp on vectors: the bits of the scalar functions where the build has fma.
template <>
struct Ops<simd::Vf> {
  using V = simd::Vf;
  ASHLAR_INLINE static V set1(float x) { return simd::set1(x); }
  ASHLAR_INLINE static V rounded(V x) { return simd::pin(x); }
  ASHLAR_INLINE static V add(V a, V b) { return simd::add(a, b); }
  ASHLAR_INLINE static V sub(V a, V b) { return simd::sub(a, b); }
  ASHLAR_INLINE static V mul(V a, V b) { return simd::mul(a, b); }
  ASHLAR_INLINE static V div(V a, V b) { return simd::div(a, b); }
  ASHLAR_INLINE static V fma(V a, V b, V c) { return simd::fma(a, b, c); }
  ASHLAR_INLINE static simd::Mask less(V a, V b) { return simd::less(a, b); }
  ASHLAR_INLINE static V select(simd::Mask mask, V a, V b) { return simd::select(mask, a, b); }
  ASHLAR_INLINE static V abs(V x) { return x & set1(__builtin_bit_cast(float, 0x7fffffffu)); }
  ASHLAR_INLINE static V negate(V x) { return x ^ set1(-0.0f); }
  ASHLAR_INLINE static V copy_sign(V x, V sign) { return abs(x) | (sign & set1(-0.0f)); }
  ASHLAR_INLINE static V scale2(V p, V shifted) {
#if defined(__AVX512F__)
    const V n = simd::sub(shifted, set1(detail::shifter));
    return _mm512_maskz_scalef_ps(0xffff, p, n);
#else
    const simd::Vi power = simd::shift_left(simd::as_int(shifted), 23);
    return p * simd::as_float(simd::add(power, simd::set1(0x3f800000)));
#endif
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::math
