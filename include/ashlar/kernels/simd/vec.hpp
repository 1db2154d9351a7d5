// SIMD vectors of float and int32: the only file that knows xsimd (8.1 to 14) and intrinsics.
//
// xsimd gives the types, the arithmetic and the choice of the instruction set; intrinsics are used
// where its releases differ or lack something. No lane ever meets another one except in fold,
// horizontal_max and swap_pairs, so a kernel written with these functions gives one result for
// every width.
#pragma once

#include <ashlar/core/dtype.hpp>
#include <cstring>
#include <limits>
#include <xsimd/xsimd.hpp>

namespace ashlar::inline ASHLAR_ABI::simd {

using Arch = xsimd::default_arch;
using Vf = xsimd::batch<float, Arch>;
using Vi = xsimd::batch<std::int32_t, Arch>;
using Mask = xsimd::batch_bool<float, Arch>;
/// Floats in a vector: 4, 8 or 16.
inline constexpr int lanes = static_cast<int>(Vf::size);
static_assert(lanes >= 2 && 64 % lanes == 0, "ashlar: no usable SIMD instruction set");

namespace detail {
/// Reads a value of type T from memory of any alignment.
template <class T>
ASHLAR_INLINE T read(const void* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
template <class To, class From>
ASHLAR_INLINE xsimd::batch<To, Arch> bitcast(const xsimd::batch<From, Arch>& v) {
#if XSIMD_VERSION_MAJOR >= 11
  return xsimd::bitwise_cast<To>(v);
#else
  return xsimd::bitwise_cast<xsimd::batch<To, Arch>>(v);
#endif
}
}  // namespace detail

// ---- memory ----

ASHLAR_INLINE Vf load(const float* p) { return Vf::load_unaligned(p); }
ASHLAR_INLINE Vi load(const std::int32_t* p) { return Vi::load_unaligned(p); }
ASHLAR_INLINE void store(float* p, Vf v) { v.store_unaligned(p); }
ASHLAR_INLINE void store(std::int32_t* p, Vi v) { v.store_unaligned(p); }
ASHLAR_INLINE Vf set1(float x) { return Vf(x); }
ASHLAR_INLINE Vi set1(std::int32_t x) { return Vi(x); }

#if defined(__AVX__) && !defined(__AVX512F__)
namespace detail {
/// All bits set in the first n of 8 lanes.
ASHLAR_INLINE __m256i first_lanes(int n) {
  static constexpr std::int32_t bits[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits + 8 - n));
}
}  // namespace detail
#endif
/// The first n lanes of memory, n < lanes, and zeros; touches nothing behind them.
ASHLAR_INLINE Vf load_first(const float* p, int n) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
#elif defined(__AVX__)
  return _mm256_maskload_ps(p, detail::first_lanes(n));
#else
  float x[lanes] = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return load(x);
#endif
}
/// Stores the first n lanes, n < lanes.
ASHLAR_INLINE void store_first(float* p, int n, Vf v) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v);
#elif defined(__AVX__)
  _mm256_maskstore_ps(p, detail::first_lanes(n), v);
#else
  float x[lanes];
  store(x, v);
  for (int i = 0; i < n; ++i) p[i] = x[i];
#endif
}
/// v with zeros from lane n on, n < lanes.
ASHLAR_INLINE Vf keep_first(Vf v, int n) {
#if defined(__AVX512F__)
  return _mm512_maskz_mov_ps(static_cast<__mmask16>((1u << n) - 1), v);
#elif defined(__AVX__)
  return _mm256_and_ps(v, _mm256_castsi256_ps(detail::first_lanes(n)));
#else
  float x[lanes];
  store(x, v);
  return load_first(x, n);
#endif
}

/// Asks for the line `bytes` after p, which need not exist, to be brought into the second-level
/// cache.
ASHLAR_INLINE void prefetch([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(__GNUC__)
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + bytes), 0,
                     2);
#endif
}

// ---- arithmetic ----

/// Keeps v in a register and out of sight of the optimiser: an operand that is used often is not
/// loaded again from memory, and a product is not fused into a later addition.
ASHLAR_INLINE Vf pin(Vf v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v.data));
#elif defined(__SSE2__)
  asm("" : "+x"(v.data));
#elif defined(__ARM_NEON) && defined(__GNUC__)
  asm("" : "+w"(v.data));
#endif
  return v;
}
ASHLAR_INLINE Vf add(Vf a, Vf b) { return a + b; }
ASHLAR_INLINE Vf sub(Vf a, Vf b) { return a - b; }
/// A product that is rounded by itself. Never use `a * b` on vectors instead: g++ fuses it into
/// additions even across intrinsics, clang does not, and the results differ.
ASHLAR_INLINE Vf mul(Vf a, Vf b) { return pin(a * b); }
/// Not `a / b`, which xsimd 8 refines from an estimate on NEON.
ASHLAR_INLINE Vf div(Vf a, Vf b) {
#if defined(__aarch64__)
  return vdivq_f32(a, b);
#else
  return a / b;
#endif
}
/// a * b + c with one rounding; with two where the instruction set has no fma. Not xsimd::fma,
/// which in some releases is `a * b + c` on AVX-512 and NEON.
ASHLAR_INLINE Vf fma(Vf a, Vf b, Vf c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX__) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA)
  return vfmaq_f32(c, a, b);
#else
  return add(mul(a, b), c);
#endif
}
/// The larger one; which one is not specified if a lane is NaN. (Masked forms: g++ 12 calls the
/// plain ones uninitialised.)
ASHLAR_INLINE Vf maximum(Vf a, Vf b) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_ps(0xffff, a, b);
#else
  return (xsimd::max)(a, b);
#endif
}
ASHLAR_INLINE Vf minimum(Vf a, Vf b) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_ps(0xffff, a, b);
#else
  return (xsimd::min)(a, b);
#endif
}

// ---- comparison and selection ----

ASHLAR_INLINE Mask less(Vf a, Vf b) { return a < b; }
/// a where the mask is set, else b.
ASHLAR_INLINE Vf select(Mask mask, Vf a, Vf b) { return xsimd::select(mask, a, b); }
/// 0, 1, 2, ...
ASHLAR_INLINE Vf iota() {
  alignas(64) float index[lanes];
  for (int i = 0; i < lanes; ++i) index[i] = static_cast<float>(i);
  return load(index);
}

// ---- bits and integers ----

ASHLAR_INLINE Vi as_int(Vf v) { return detail::bitcast<std::int32_t>(v); }
ASHLAR_INLINE Vf as_float(Vi v) { return detail::bitcast<float>(v); }
ASHLAR_INLINE Vi add(Vi a, Vi b) { return a + b; }
ASHLAR_INLINE Vi sub(Vi a, Vi b) { return a - b; }
ASHLAR_INLINE Vi bit_and(Vi a, Vi b) { return a & b; }
ASHLAR_INLINE Vi bit_or(Vi a, Vi b) { return a | b; }
ASHLAR_INLINE Vi bit_xor(Vi a, Vi b) { return a ^ b; }
namespace detail {
// The compiler's own vectors for what xsimd and g++'s AVX-512 header express badly: shifts take the
// count as an immediate, and nothing warns of uninitialised operands.
using Ints = std::int32_t __attribute__((vector_size(4 * lanes)));
using Words = std::uint32_t __attribute__((vector_size(4 * lanes)));
using Floats = float __attribute__((vector_size(4 * lanes)));
using RawInts = decltype(Vi{}.data);
using RawFloats = decltype(Vf{}.data);
}  // namespace detail

/// Shifts by a count in [0, 31]; zeros come in.
ASHLAR_INLINE Vi shift_left(Vi a, int count) {
  return (detail::RawInts)((detail::Words)a.data << count);
}
ASHLAR_INLINE Vi shift_right(Vi a, int count) {
  return (detail::RawInts)((detail::Words)a.data >> count);
}
ASHLAR_INLINE Vf to_float(Vi v) {
  return (detail::RawFloats) __builtin_convertvector((detail::Ints)v.data, detail::Floats);
}

/// Byte j of every lane: one shuffle inside the lanes instead of a shift and a mask.
ASHLAR_INLINE Vi lane_byte(Vi v, int j) {
#if defined(__AVX512BW__)
  const __m512i lanes_of_16 = _mm512_set4_epi32(-0x7f7f7ff4, -0x7f7f7ff8, -0x7f7f7ffc, -0x7f7f8000);
  return _mm512_maskz_shuffle_epi8(~__mmask64{0}, v, add(Vi(lanes_of_16), set1(j)));
#elif defined(__AVX2__)
  const __m256i lanes_of_8 = _mm256_setr_epi32(-0x7f7f8000, -0x7f7f7ffc, -0x7f7f7ff8, -0x7f7f7ff4,
                                               -0x7f7f8000, -0x7f7f7ffc, -0x7f7f7ff8, -0x7f7f7ff4);
  return _mm256_shuffle_epi8(v, add(Vi(lanes_of_8), set1(j)));
#else
  return bit_and(shift_right(v, 8 * j), set1(255));
#endif
}

// ---- conversion on load, always exact ----

/// `lanes` unsigned bytes as integers.
ASHLAR_INLINE Vi load_widened(const std::uint8_t* p) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtepu8_epi32(0xffff, detail::read<__m128i>(p));
#elif defined(__AVX2__)
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
#elif defined(__SSE4_1__) && !defined(__AVX__)
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(detail::read<int>(p)));
#else
  return Vi::load_unaligned(p);
#endif
}
/// `lanes` signed bytes as integers.
ASHLAR_INLINE Vi load_widened(const std::int8_t* p) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtepi8_epi32(0xffff, detail::read<__m128i>(p));
#elif defined(__AVX2__)
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
#elif defined(__SSE4_1__) && !defined(__AVX__)
  return _mm_cvtepi8_epi32(_mm_cvtsi32_si128(detail::read<int>(p)));
#else
  return Vi::load_unaligned(p);
#endif
}
/// `lanes` unsigned 16-bit values as integers.
ASHLAR_INLINE Vi load_widened(const std::uint16_t* p) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtepu16_epi32(0xffff, detail::read<__m256i>(p));
#elif defined(__AVX2__)
  return _mm256_cvtepu16_epi32(detail::read<__m128i>(p));
#elif defined(__SSE2__) && !defined(__AVX__)
  return _mm_unpacklo_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)),
                            _mm_setzero_si128());
#elif defined(__ARM_NEON)
  return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
#else
  return Vi::load_unaligned(p);
#endif
}
ASHLAR_INLINE Vf load(const bfloat16* p) {
  return as_float(shift_left(load_widened(reinterpret_cast<const std::uint16_t*>(p)), 16));
}
ASHLAR_INLINE Vf load(const half* p) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(0xffff, detail::read<__m256i>(p));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(detail::read<__m128i>(p));
#elif defined(__aarch64__)
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(p))));
#else
  // As a float with the exponent still biased by 15: subnormals scale exactly as normal numbers
  // do, only infinity and NaN need the largest exponent put in.
  const Vi bits = load_widened(reinterpret_cast<const std::uint16_t*>(p));
  const Vi magnitude = shift_left(bit_and(bits, set1(0x7fff)), 13);
  const Vf scaled = as_float(magnitude) * set1(0x1p112f);
  const Vf special = as_float(bit_or(magnitude, set1(0x7f800000)));
  const Vf value = select(less(scaled, set1(0x1p16f)), scaled, special);
  return as_float(bit_or(as_int(value), shift_left(bit_and(bits, set1(0x8000)), 16)));
#endif
}

// ---- across the lanes ----

/// Four rows of four floats become four columns.
ASHLAR_INLINE void transpose4(const float* in, std::ptrdiff_t in_stride, float* out,
                              std::ptrdiff_t out_stride) {
#if defined(__SSE2__)
  __m128 r[4];
  for (int i = 0; i < 4; ++i) r[i] = _mm_loadu_ps(in + i * in_stride);
  _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
  for (int i = 0; i < 4; ++i) _mm_storeu_ps(out + i * out_stride, r[i]);
#else
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) out[j * out_stride + i] = in[i * in_stride + j];
#endif
}

/// Lanes 1, 0, 3, 2, ..
ASHLAR_INLINE Vf swap_pairs(Vf v) {
#if defined(__AVX512F__)
  return _mm512_maskz_permute_ps(0xffff, v, 0xb1);
#elif defined(__AVX__)
  return _mm256_permute_ps(v, 0xb1);
#elif defined(__SSE2__)
  return _mm_shuffle_ps(v, v, 0xb1);
#elif defined(__ARM_NEON)
  return vrev64q_f32(v);
#else
  float x[lanes], y[lanes];
  store(x, v);
  for (int i = 0; i < lanes; ++i) y[i] = x[i ^ 1];
  return load(y);
#endif
}

namespace detail {
#if defined(__SSE2__)
/// Applies op to the halves of a vector until one value is left: lane i meets lane i + width / 2.
template <class Op>
ASHLAR_INLINE float halve(Vf v, Op op) {
#  if defined(__AVX512F__)
  // The zero-masking forms: g++ 12 warns of an uninitialised value inside the plain ones.
  const __m512d w = _mm512_castps_pd(v);
  const __m256 low = _mm256_castpd_ps(_mm512_maskz_extractf64x4_pd(0xff, w, 0));
  const __m256 y = op(low, _mm256_castpd_ps(_mm512_maskz_extractf64x4_pd(0xff, w, 1)));
  const __m128 x = op(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
#  elif defined(__AVX__)
  const __m128 x = op(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
#  else
  const __m128 x = v;
#  endif
  const __m128 pair = op(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(op(pair, _mm_shuffle_ps(pair, pair, 1)));
}
struct Plus {
  ASHLAR_INLINE __m128 operator()(__m128 a, __m128 b) const { return _mm_add_ps(a, b); }
#  if defined(__AVX__)
  ASHLAR_INLINE __m256 operator()(__m256 a, __m256 b) const { return _mm256_add_ps(a, b); }
#  endif
};
struct Larger {
  ASHLAR_INLINE __m128 operator()(__m128 a, __m128 b) const { return _mm_max_ps(a, b); }
#  if defined(__AVX__)
  ASHLAR_INLINE __m256 operator()(__m256 a, __m256 b) const { return _mm256_max_ps(a, b); }
#  endif
};
#else
template <class Op>
ASHLAR_INLINE float halve(Vf v, Op op) {
  float c[lanes];
  store(c, v);
  for (int w = lanes / 2; w > 0; w /= 2)
    for (int i = 0; i < w; ++i) c[i] = op(c[i], c[i + w]);
  return c[0];
}
struct Plus {
  ASHLAR_INLINE float operator()(float a, float b) const { return a + b; }
};
struct Larger {
  ASHLAR_INLINE float operator()(float a, float b) const { return a < b ? b : a; }
};
#endif
}  // namespace detail

/// The largest lane; not specified if a lane is NaN.
ASHLAR_INLINE float horizontal_max(Vf v) { return detail::halve(v, detail::Larger{}); }

/// Sum of 64 values in the order of the library: c[i] += c[i + w] for w = 32, 16, 8, 4, 2, 1.
ASHLAR_INLINE float fold(const Vf (&c)[64 / lanes]) {
  Vf t[64 / lanes];
  ASHLAR_UNROLL
  for (int i = 0; i < 64 / lanes; ++i) t[i] = c[i];
  ASHLAR_UNROLL
  for (int w = 32 / lanes; w > 0; w /= 2) {
    ASHLAR_UNROLL
    for (int i = 0; i < w; ++i) t[i] = add(t[i], t[i + w]);
  }
  return detail::halve(t[0], detail::Plus{});
}

}  // namespace ashlar::inline ASHLAR_ABI::simd
