// Every macro of the library. All begin with ASHLAR_.
//
// Set by the user, in every translation unit alike:
//   ASHLAR_DEBUG_CHECKS   index and overlap checks in views and ops
// Everything else is found out here.
#pragma once

#include <ashlar/version.hpp>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#  error \
      "ashlar: -ffast-math and -ffinite-math-only break masks (-inf) and the order of accumulation"
#endif

// ASHLAR_HD: functions that a CUDA kernel may call too. ASHLAR_DEVICE: the bodies of the kernels,
// and ASHLAR_DEVICE_UNROLL their loops over registers; without nvcc these are plain functions and
// loops, which tests run on an emulated device.
#if defined(__CUDACC__)
#  define ASHLAR_HD __host__ __device__
#  define ASHLAR_DEVICE __device__ __forceinline__
#  define ASHLAR_DEVICE_UNROLL _Pragma("unroll")
#else
#  define ASHLAR_HD
#  define ASHLAR_DEVICE inline
#  define ASHLAR_DEVICE_UNROLL
#endif

// Kernel functions whose inlining decides over speed: register tiles must stay real functions,
// their building blocks must not.
#if defined(__GNUC__)
#  define ASHLAR_INLINE inline __attribute__((always_inline))
#  define ASHLAR_NOINLINE __attribute__((noinline))
#  define ASHLAR_UNROLL _Pragma("GCC unroll 64")
#else
#  define ASHLAR_INLINE inline
#  define ASHLAR_NOINLINE
#  define ASHLAR_UNROLL
#endif

#if defined(__cpp_exceptions)
#  define ASHLAR_EXCEPTIONS 1
#else
#  define ASHLAR_EXCEPTIONS 0
#endif

// Inline namespaces for version, instruction set and checks, so that objects built with different
// flags never share an inline function.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#  if defined(__AVX512VNNI__)
#    define ASHLAR_ISA avx512vnni
#  else
#    define ASHLAR_ISA avx512
#  endif
#elif defined(__AVX512F__)
#  define ASHLAR_ISA avx512f
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#  define ASHLAR_ISA avx2
#elif defined(__AVX2__) && defined(__FMA__)
#  define ASHLAR_ISA avx2_nof16c
#elif defined(__AVX2__)
#  define ASHLAR_ISA avx2_nofma
#elif defined(__AVX__) && defined(__FMA__)
#  define ASHLAR_ISA avx_fma
#elif defined(__AVX__)
#  define ASHLAR_ISA avx
#elif defined(__SSE4_1__)
#  define ASHLAR_ISA sse41
#elif defined(__SSE2__)
#  define ASHLAR_ISA sse2
#elif defined(__ARM_NEON)
#  define ASHLAR_ISA neon
#else
#  define ASHLAR_ISA generic
#endif

#if ASHLAR_EXCEPTIONS && defined(ASHLAR_DEBUG_CHECKS)
#  define ASHLAR_ABI v0_1::inline ASHLAR_ISA::inline checked
#elif ASHLAR_EXCEPTIONS
#  define ASHLAR_ABI v0_1::inline ASHLAR_ISA::inline throws
#elif defined(ASHLAR_DEBUG_CHECKS)
#  define ASHLAR_ABI v0_1::inline ASHLAR_ISA::inline checked_nothrow
#else
#  define ASHLAR_ABI v0_1::inline ASHLAR_ISA::inline nothrow
#endif

namespace ashlar::inline ASHLAR_ABI {

/// Whether this build multiplies and adds with one rounding in hardware. Only then do the SIMD
/// kernels give the bits of the scalar ones.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__AVX512F__)
inline constexpr bool has_fma = true;
#else
inline constexpr bool has_fma = false;
#endif

}  // namespace ashlar::inline ASHLAR_ABI
