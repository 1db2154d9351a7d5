// Weights in registers: walks over the k of panels and hands out vectors of exact f32 weights.
#pragma once

#include <ashlar/kernels/simd/vec.hpp>
#include <ashlar/weights/panels.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels::simd_linear {

using simd::Vf;
using simd::Vi;

/// Vectors that hold the 16 rows of a panel.
inline constexpr int panel_vectors = static_cast<int>(panel_rows) / simd::lanes;

ASHLAR_INLINE Vi load_words(const std::uint8_t* p) {
  return simd::load(reinterpret_cast<const std::int32_t*>(p));
}
ASHLAR_INLINE Vf load_halves(const std::uint8_t* p) {
  return simd::load(reinterpret_cast<const half*>(p));
}

/// The lowest four bits of every lane as a float.
ASHLAR_INLINE Vf nibble(Vi v) {
#if defined(__AVX512F__)
  // A table look-up by the lowest four bits: one instruction instead of a mask and a conversion.
  const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_maskz_permutexvar_ps(0xffff, v, table);
#else
  return simd::to_float(simd::bit_and(v, simd::set1(15)));
#endif
}
/// Byte j of every lane as a float.
ASHLAR_INLINE Vf byte(Vi v, int j) {
  if (j == 3) return simd::to_float(simd::shift_right(v, 24));
  return simd::to_float(simd::lane_byte(v, j));
}

/// weight = fma(code, scale, offset) for one vector of rows, the value of core/quant.hpp.
struct Affine {
  Vf scale, offset;
};
/// Of the elements k >= 16 (second == 1) or k < 16 of a block; lane i, `v` is the vector of the
/// panel. Products are exact but for none: 11-bit halves times 8-bit integers.
template <DType Type>
ASHLAR_INLINE Affine load_affine(const std::uint8_t* super, const std::uint8_t* block, int v,
                                 int second) {
  using simd::mul;
  using simd::set1;
  const index_t row = static_cast<index_t>(v) * simd::lanes;
  const Vf d = load_halves(super + 2 * row);
  if constexpr (Type == DType::q8_0) return {d, mul(d, set1(-128.f))};
  if constexpr (Type == DType::q4_0) return {d, mul(d, set1(-8.f))};
  if constexpr (Type == DType::q5_0) return {d, mul(d, set1(-16.f))};
  if constexpr (Type == DType::q4_1 || Type == DType::q5_1)
    return {d, load_halves(super + 32 + 2 * row)};
  if constexpr (Type == DType::q4_k || Type == DType::q5_k) {
    const Vf scale = simd::to_float(simd::load_widened(block + row));
    const Vf minimum = simd::to_float(simd::load_widened(block + 16 + row));
    const Vf negative = mul(load_halves(super + 32 + 2 * row), set1(-1.f));
    return {mul(d, scale), mul(negative, minimum)};
  }
  if constexpr (Type == DType::q6_k) {
    const auto* bytes = reinterpret_cast<const std::int8_t*>(block) + 16 * second + row;
    const Vf scale = mul(d, simd::to_float(simd::load_widened(bytes)));
    return {scale, mul(scale, set1(-32.f))};
  }
}

/// Bits [at, at + width) of every byte in bits 4 (and 5) of it.
ASHLAR_INLINE Vi high_bits(Vi word, int width, int at) {
  const Vi moved = simd::shift_left(word, 4 - at);
  return simd::bit_and(moved, simd::set1(width == 1 ? 0x10101010 : 0x30303030));
}

/// walk() over one block of 32 k of a quantised type.
template <DType Type, int Panels, class F>
ASHLAR_INLINE void walk_block(const std::uint8_t* super, const std::uint8_t* block,
                              index_t distance, index_t k, const F& f) {
  constexpr PanelBlock format = panel_block(Type);
  constexpr int vectors = Panels * panel_vectors, group = 32 / format.code_bits;
  constexpr int high_words = format.high_words;
  const auto line = [&](int i, index_t at) {
    return block + i / panel_vectors * distance + at + i % panel_vectors * simd::lanes * 4;
  };
  Affine affine[vectors];
  const auto load_scales = [&](int second) {
    ASHLAR_UNROLL
    for (int i = 0; i < vectors; ++i) {
      const index_t panel = i / panel_vectors * distance;
      affine[i] = load_affine<Type>(super + panel, block + panel, i % panel_vectors, second);
    }
  };
  load_scales(0);
  Vi code[vectors];
  Vf w[vectors];
  if constexpr (format.code_bits == 8 || (high_words == 0 && simd::lanes == 16)) {
    for (int g = 0; g < 32 / group; ++g) {
      ASHLAR_UNROLL
      for (int i = 0; i < vectors; ++i) code[i] = load_words(line(i, format.codes() + 64 * g));
      ASHLAR_UNROLL
      for (int j = 0; j < group; ++j) {
        ASHLAR_UNROLL
        for (int i = 0; i < vectors; ++i) {
          const Vf q = group == 4 ? byte(code[i], j)
                                  : nibble(simd::shift_right(code[i], j % 4 * 8 + j / 4 * 4));
          w[i] = simd::fma(q, affine[i].scale, affine[i].offset);
        }
        f(k + g * group + j, w);
      }
    }
  } else {
    for (int g = 0; g < 4; ++g) {  // a line of codes: eight k, two to a byte
      if (Type == DType::q6_k && g == 2) load_scales(1);
      Vi line_of_codes[vectors], high[vectors];
      ASHLAR_UNROLL
      for (int i = 0; i < vectors; ++i) {
        line_of_codes[i] = load_words(line(i, format.codes() + 64 * g));
        if constexpr (high_words > 0) {
          const int bit = 2 * g * high_words;  // of the bytes that hold the upper bits
          high[i] = load_words(line(i, format.scale_bytes + bit / 8 * 64));
          high[i] = simd::shift_right(high[i], bit % 8);
        }
      }
      ASHLAR_UNROLL
      for (int half = 0; half < 2; ++half) {
        ASHLAR_UNROLL
        for (int i = 0; i < vectors; ++i) {
          const Vi word = line_of_codes[i];
          code[i] = simd::bit_and(half ? simd::shift_right(word, 4) : word, simd::set1(0x0f0f0f0f));
          if constexpr (high_words > 0)
            code[i] = simd::bit_or(code[i], high_bits(high[i], high_words, half * high_words));
        }
        ASHLAR_UNROLL
        for (int j = 0; j < 4; ++j) {
          ASHLAR_UNROLL
          for (int i = 0; i < vectors; ++i)
            w[i] = simd::fma(byte(code[i], j), affine[i].scale, affine[i].offset);
          f(k + 8 * g + 4 * half + j, w);
        }
      }
    }
  }
}

/// Calls f(k, w) for k = 0 .. count - 1 in ascending order, where w[p * panel_vectors + v] are the
/// weights of panel p, `distance` bytes after the one before.
template <DType Type, int Panels, class F>
ASHLAR_INLINE void walk(const std::byte* panel, index_t distance, index_t count, const F& f) {
  constexpr int vectors = Panels * panel_vectors;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(panel);
  Vf w[vectors];
  if constexpr (Type == DType::f32 || Type == DType::f16) {
    constexpr int size = Type == DType::f32 ? 4 : 2;
    for (index_t k = 0; k < count; ++k) {
      ASHLAR_UNROLL
      for (int i = 0; i < vectors; ++i) {
        const std::uint8_t* p = bytes + i / panel_vectors * distance +
                                (k * panel_rows + i % panel_vectors * simd::lanes) * size;
        if constexpr (Type == DType::f32)
          w[i] = simd::load(reinterpret_cast<const float*>(p));
        else
          w[i] = load_halves(p);
      }
      f(k, w);
    }
  } else if constexpr (Type == DType::bf16) {
    for (index_t k = 0; k < count; k += 2) {
      Vi pair[vectors];
      ASHLAR_UNROLL
      for (int i = 0; i < vectors; ++i) {
        pair[i] = load_words(bytes + i / panel_vectors * distance +
                             (k / 2 * panel_rows + i % panel_vectors * simd::lanes) * 4);
        w[i] = simd::as_float(simd::shift_left(pair[i], 16));
      }
      f(k, w);
      if (k + 1 == count) return;
      ASHLAR_UNROLL
      for (int i = 0; i < vectors; ++i)
        w[i] = simd::as_float(simd::bit_and(pair[i], simd::set1(static_cast<int>(0xffff0000u))));
      f(k + 1, w);
    }
  } else {
    constexpr PanelBlock format = panel_block(Type);
    for (index_t b = 0; b < count / 32; ++b)
      walk_block<Type, Panels>(bytes + format.super_at(b), bytes + format.at(b), distance, 32 * b,
                               f);
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::kernels::simd_linear
