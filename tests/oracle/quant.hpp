// Decoders of GGUF weight blocks in double, written from the layout table; includes no header of
// the library.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "attention.hpp"

namespace oracle {

inline double half_value(unsigned bits) {
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 10) & 31),
            mantissa = static_cast<int>(bits & 1023);
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}
inline double bfloat16_value(unsigned bits) {
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 7) & 255), mantissa = static_cast<int>(bits & 127);
  if (exponent == 255) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -133) : std::ldexp(mantissa + 128, exponent - 134));
}

struct BlockSize {
  Index elements, bytes;
};
inline BlockSize block_size(const std::string& type) {
  if (type == "F32") return {1, 4};
  if (type == "F16" || type == "BF16") return {1, 2};
  if (type == "Q8_0") return {32, 34};
  if (type == "Q4_0") return {32, 18};
  if (type == "Q4_1") return {32, 20};
  if (type == "Q5_0") return {32, 22};
  if (type == "Q5_1") return {32, 24};
  if (type == "Q4_K") return {256, 144};
  if (type == "Q5_K") return {256, 176};
  if (type == "Q6_K") return {256, 210};
  throw std::invalid_argument("oracle: no block type " + type);
}

/// Value of element j of the block (F16 and BF16: of the single number) that starts at `block`.
inline double block_value(const std::string& type, const std::uint8_t* block, Index j) {
  const auto byte = [&](Index i) { return static_cast<int>(block[i]); };
  const auto signed_byte = [&](Index i) { return byte(i) < 128 ? byte(i) : byte(i) - 256; };
  const auto half_at = [&](Index i) {
    return half_value(static_cast<unsigned>(byte(i) + 256 * byte(i + 1)));
  };
  // 32 elements: low nibbles are 0 .. 15, high nibbles 16 .. 31.
  const auto nibble = [&](Index at) { return j < 16 ? byte(at + j) % 16 : byte(at + j - 16) / 16; };
  const auto fifth = [&](Index at) { return (byte(at + j / 8) >> (j % 8)) % 2 * 16; };

  if (type == "F32") {
    unsigned bits = 0;
    for (int i = 3; i >= 0; --i) bits = bits * 256 + block[i];
    const int exponent = static_cast<int>((bits >> 23) & 255),
              mantissa = static_cast<int>(bits & 0x7fffff);
    const double sign = (bits >> 31) != 0 ? -1.0 : 1.0;
    if (exponent == 255) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    return sign * (exponent == 0 ? std::ldexp(mantissa, -149)
                                 : std::ldexp(mantissa + 0x800000, exponent - 150));
  }
  if (type == "F16") return half_at(0);
  if (type == "BF16") return bfloat16_value(static_cast<unsigned>(byte(0) + 256 * byte(1)));
  if (type == "Q8_0") return half_at(0) * signed_byte(2 + j);
  if (type == "Q4_0") return half_at(0) * (nibble(2) - 8);
  if (type == "Q4_1") return half_at(0) * nibble(4) + half_at(2);
  if (type == "Q5_0") return half_at(0) * (nibble(6) + fifth(2) - 16);
  if (type == "Q5_1") return half_at(0) * (nibble(8) + fifth(4)) + half_at(2);
  if (type == "Q4_K" || type == "Q5_K") {
    const Index g = j / 32, l = j % 32, low = type == "Q4_K" ? 16 : 48;
    const int scale = g < 4 ? byte(4 + g) % 64 : byte(8 + g) % 16 + byte(g) / 64 * 16;
    const int minimum = g < 4 ? byte(8 + g) % 64 : byte(8 + g) / 16 + byte(4 + g) / 64 * 16;
    const int packed = byte(low + 32 * (g / 2) + l);
    int q = g % 2 == 0 ? packed % 16 : packed / 16;
    if (type == "Q5_K") q += (byte(16 + l) >> g) % 2 * 16;
    return half_at(0) * scale * q - half_at(2) * minimum;
  }
  if (type == "Q6_K") {
    const Index n = j / 128, k = j % 128 / 32, l = j % 32;
    const int packed = byte(64 * n + 32 * (k % 2) + l);
    const int low = k >= 2 ? packed / 16 : packed % 16;
    const int high = (byte(128 + 32 * n + l) >> (2 * k)) % 4;
    return half_at(208) * signed_byte(192 + 8 * n + 2 * k + l / 16) * (low + 16 * high - 32);
  }
  throw std::invalid_argument("oracle: no block type " + type);
}

/// `count` values from packed blocks.
inline Vec dequantize(const std::string& type, const std::uint8_t* data, Index count) {
  const BlockSize size = block_size(type);
  Vec values(to_size(count));
  for (Index i = 0; i < count; ++i)
    values[to_size(i)] =
        block_value(type, data + i / size.elements * size.bytes, i % size.elements);
  return values;
}

}  // namespace oracle
