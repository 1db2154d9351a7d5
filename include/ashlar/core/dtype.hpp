// Element types: the library's own 16-bit floats with exact conversions, and the run-time DType.
#pragma once

#include <ashlar/core/types.hpp>
#include <string_view>
#include <type_traits>

namespace ashlar::inline ASHLAR_ABI {

/// bfloat16: the upper half of a float. Rounds to nearest, ties to even; NaN stays NaN.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  ASHLAR_HD explicit constexpr bfloat16(float value) : bits(round(value)) {}
  ASHLAR_HD constexpr operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
  ASHLAR_HD static constexpr bfloat16 from_bits(std::uint16_t b) {
    bfloat16 x;
    x.bits = b;
    return x;
  }

 private:
  ASHLAR_HD static constexpr std::uint16_t round(float value) {
    const auto u = __builtin_bit_cast(std::uint32_t, value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((u >> 16) | 0x40u);
    return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
};

/// IEEE binary16. Rounds to nearest, ties to even; overflow gives infinity, NaN stays NaN.
struct half {
  std::uint16_t bits = 0;

  half() = default;
  ASHLAR_HD explicit constexpr half(float value) : bits(round(value)) {}
  ASHLAR_HD constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 31u, mantissa = bits & 1023u;
    if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0)
      return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (mantissa << 13));
    // Subnormal: mantissa * 2^-24, exact in a float; the sign is put back by hand to keep -0.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, magnitude));
  }
  ASHLAR_HD static constexpr half from_bits(std::uint16_t b) {
    half x;
    x.bits = b;
    return x;
  }

 private:
  ASHLAR_HD static constexpr std::uint16_t round(float value) {
    const auto u = __builtin_bit_cast(std::uint32_t, value);
    const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000u);
    const std::uint32_t a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((a >> 13) & 0x1ffu));
    if (a >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 65520: infinity
    if (a >= 0x38800000u) {                                                   // normal
      const std::uint32_t r = a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u;
      return static_cast<std::uint16_t>(sign | (r >> 13));
    }
    if (a < 0x33000000u) return sign;  // below half of the smallest subnormal
    const std::uint32_t shift = 126u - (a >> 23), m = (a & 0x7fffffu) | 0x800000u;
    const std::uint32_t q = m >> shift, rest = m & ((1u << shift) - 1), tie = 1u << (shift - 1);
    return static_cast<std::uint16_t>(sign |
                                      (q + ((rest > tie || (rest == tie && (q & 1u))) ? 1u : 0u)));
  }
};

static_assert(sizeof(bfloat16) == 2 && sizeof(half) == 2);

/// Types that activations may have.
template <class T>
inline constexpr bool is_element_v = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                     std::is_same_v<T, bfloat16> || std::is_same_v<T, half>;
template <class T>
concept Element = is_element_v<std::remove_const_t<T>>;

/// The type that sums over T are formed in: double for double, float for everything else.
template <class T>
using accumulator_t =
    std::conditional_t<std::is_same_v<std::remove_const_t<T>, double>, double, float>;

/// Rounds x to T and widens it again.
template <class T, class A>
ASHLAR_HD constexpr A round_to(A x) {
  if constexpr (std::is_same_v<T, A>)
    return x;
  else
    return static_cast<A>(static_cast<T>(x));
}

/// Element types of files and weights. Block formats are those of GGUF.
enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q4_k,
  q5_k,
  q6_k,
  unsupported  // a known name or id without a reader here: listed, but an error on use
};

/// Name and storage of a DType: `elements` values take `bytes` bytes.
struct DTypeInfo {
  std::string_view name;
  index_t elements, bytes;
};
constexpr DTypeInfo info(DType t) {
  constexpr DTypeInfo table[] = {
      {"F64", 1, 8},      {"F32", 1, 4},        {"F16", 1, 2},      {"BF16", 1, 2},
      {"I64", 1, 8},      {"I32", 1, 4},        {"I16", 1, 2},      {"I8", 1, 1},
      {"U64", 1, 8},      {"U32", 1, 4},        {"U16", 1, 2},      {"U8", 1, 1},
      {"BOOL", 1, 1},     {"Q8_0", 32, 34},     {"Q4_0", 32, 18},   {"Q4_1", 32, 20},
      {"Q5_0", 32, 22},   {"Q5_1", 32, 24},     {"Q4_K", 256, 144}, {"Q5_K", 256, 176},
      {"Q6_K", 256, 210}, {"unsupported", 1, 0}};
  return table[static_cast<std::size_t>(t)];
}
constexpr bool is_quantized(DType t) { return t >= DType::q8_0 && t <= DType::q6_k; }
constexpr bool is_float(DType t) { return t <= DType::bf16; }

template <class T>
inline constexpr DType dtype_of = DType::unsupported;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<half> = DType::f16;
template <>
inline constexpr DType dtype_of<bfloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;

}  // namespace ashlar::inline ASHLAR_ABI
