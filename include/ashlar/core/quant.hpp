// Block formats of GGUF: the exact f32 value of each stored weight.
//
// A value is formed with one rounding at most, so that every kernel can form it again in registers:
// scale and offset are exact in f32 (11-bit scales times 6- or 8-bit sub-scales), then
// fma(q, scale, offset), or scale * q where there is no offset.
#pragma once

#include <ashlar/core/dtype.hpp>
#include <cmath>
#include <cstring>

namespace ashlar::inline ASHLAR_ABI {

namespace detail {

inline float read_half(const std::uint8_t* p) {
  return half::from_bits(static_cast<std::uint16_t>(p[0] | (p[1] << 8)));
}
inline std::uint32_t read_u32(const std::uint8_t* p) {
  std::uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

/// The 6-bit scale and minimum of sub-block g of Q4_K and Q5_K.
struct KScale {
  int scale, minimum;
};
inline KScale k_scale(const std::uint8_t* s, int g) {
  if (g < 4) return {s[g] & 63, s[g + 4] & 63};
  return {(s[g + 4] & 15) | ((s[g - 4] >> 6) << 4), (s[g + 4] >> 4) | ((s[g] >> 6) << 4)};
}

/// 32 values with 4-bit codes at q (low nibbles first), their fifth bits in `high`.
inline void decode_nibbles(const std::uint8_t* q, std::uint32_t high, float scale, float offset,
                           float* y) {
  for (int j = 0; j < 32; ++j) {
    const int low = j < 16 ? q[j] & 15 : q[j - 16] >> 4;
    const int code = low | static_cast<int>(((high >> j) & 1u) << 4);
    y[j] = std::fma(static_cast<float>(code), scale, offset);
  }
}

/// One super-block of Q4_K (high == nullptr) or Q5_K.
inline void decode_k45(const std::uint8_t* b, const std::uint8_t* high, const std::uint8_t* q,
                       float* y) {
  const float d = read_half(b), minimum = read_half(b + 2);
  for (int g = 0; g < 8; ++g) {
    const KScale s = k_scale(b + 4, g);
    const float scale = d * static_cast<float>(s.scale);
    const float offset = -(minimum * static_cast<float>(s.minimum));
    for (int l = 0; l < 32; ++l) {
      int code = (g & 1) ? q[32 * (g / 2) + l] >> 4 : q[32 * (g / 2) + l] & 15;
      if (high) code |= ((high[l] >> g) & 1) << 4;
      y[32 * g + l] = std::fma(static_cast<float>(code), scale, offset);
    }
  }
}

inline void decode_q6_k(const std::uint8_t* b, float* y) {
  const std::uint8_t *low = b, *high = b + 128;
  const auto* scales = reinterpret_cast<const std::int8_t*>(b + 192);
  const float d = read_half(b + 208);
  for (int j = 0; j < 256; ++j) {
    const int n = j / 128, k = (j % 128) / 32, l = j % 32;
    const int byte = low[64 * n + 32 * (k & 1) + l];
    const int code =
        ((k >= 2 ? byte >> 4 : byte & 15) | (((high[32 * n + l] >> (2 * k)) & 3) << 4)) - 32;
    y[j] = d * static_cast<float>(scales[8 * n + 2 * k + l / 16]) * static_cast<float>(code);
  }
}

}  // namespace detail

/// Decodes one block of a quantised type to info(type).elements floats.
inline void decode_block(DType type, const void* block, float* y) {
  const auto* b = static_cast<const std::uint8_t*>(block);
  using namespace detail;
  switch (type) {
    case DType::q8_0: {
      const float d = read_half(b);
      const auto* q = reinterpret_cast<const std::int8_t*>(b + 2);
      for (int j = 0; j < 32; ++j) y[j] = d * static_cast<float>(q[j]);
      return;
    }
    case DType::q4_0:
      return decode_nibbles(b + 2, 0, read_half(b), -8.f * read_half(b), y);
    case DType::q4_1:
      return decode_nibbles(b + 4, 0, read_half(b), read_half(b + 2), y);
    case DType::q5_0:
      return decode_nibbles(b + 6, read_u32(b + 2), read_half(b), -16.f * read_half(b), y);
    case DType::q5_1:
      return decode_nibbles(b + 8, read_u32(b + 4), read_half(b), read_half(b + 2), y);
    case DType::q4_k:
      return decode_k45(b, nullptr, b + 16, y);
    case DType::q5_k:
      return decode_k45(b, b + 16, b + 48, y);
    case DType::q6_k:
      return decode_q6_k(b, y);
    default:
      return;
  }
}

/// Decodes n stored elements of any weight type (n a whole number of blocks) to floats.
inline void decode_elements(DType type, const void* data, index_t n, float* y) {
  const auto* p = static_cast<const std::uint8_t*>(data);
  const DTypeInfo i = info(type);
  for (index_t k = 0; k < n; k += i.elements, p += i.bytes) {
    if (type == DType::f32)
      std::memcpy(y + k, p, 4);
    else if (type == DType::f16)
      y[k] = detail::read_half(p);
    else if (type == DType::bf16)
      y[k] = bfloat16::from_bits(static_cast<std::uint16_t>(p[0] | (p[1] << 8)));
    else
      decode_block(type, p, y + k);
  }
}

}  // namespace ashlar::inline ASHLAR_ABI
