// Q8_0 in caches: 32 elements of a row share a scale. How they are rounded, and what they are.
#pragma once

#include <ashlar/core/dtype.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

/// The element type of a cache whose rows are Q8_0: element i of a row is
/// scales[i / 32] * codes[i], as in weights (core/quant.hpp), exact in f32.
struct Q8_0 {
  static constexpr index_t block = 32;

  /// Scales of a row, which come in pairs, so that four bytes hold two; those of blocks without
  /// elements are 0.
  ASHLAR_HD static constexpr index_t scales(index_t width) { return 2 * ceil_div(width, 64); }
  /// The scale of a block whose largest magnitude is `largest`; NaN or infinite if that is.
  ASHLAR_HD static half scale(float largest) {
    if (largest != largest) return half::from_bits(0x7e00);  // the bits of a NaN differ by machine
    return half(largest / 127.f);
  }
  /// The code of x: x / scale to the nearest, ties to even, at most 127. 0 where the scale is 0 or
  /// not finite.
  ASHLAR_HD static std::int8_t code(float x, half scale) {
    const float d = scale;
    if (!(d > 0.f && d < HUGE_VALF)) return 0;
    const float q = std::fmin(std::fmax(std::rint(x / d), -127.f), 127.f);
    return static_cast<std::int8_t>(q);
  }
  /// The magnitude of x as a number that grows with it; NaN is larger than all others.
  ASHLAR_HD static std::uint32_t magnitude(float x) {
    return __builtin_bit_cast(std::uint32_t, x) & 0x7fffffffu;
  }
  /// Rounds a row of `width` elements; writes scales(width) scales. A block with a NaN or an
  /// infinity becomes NaN. Of finite elements within 127 * 65504 each is off by at most half a
  /// scale, or 127 * 2^-25 where scales are subnormal.
  template <class T>
  ASHLAR_HD static void round_row(const T* x, index_t width, std::int8_t* codes, half* scales_out) {
    for (index_t n = 0; n < scales(width); ++n) {
      const index_t begin = n * block, end = min_index(begin + block, width);
      std::uint32_t largest = 0;
      for (index_t i = begin; i < end; ++i) {
        const std::uint32_t m = magnitude(static_cast<float>(x[i]));
        largest = m > largest ? m : largest;
      }
      scales_out[n] = scale(__builtin_bit_cast(float, largest));
      for (index_t i = begin; i < end; ++i)
        codes[i] = code(static_cast<float>(x[i]), scales_out[n]);
    }
  }
};

/// A row of Q8_0.
struct Q8Row {
  const std::int8_t* codes = nullptr;
  const half* scales = nullptr;

  ASHLAR_HD float operator[](index_t i) const {
    return static_cast<float>(scales[i / Q8_0::block]) * static_cast<float>(codes[i]);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
