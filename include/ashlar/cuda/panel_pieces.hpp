// Weights in panels (weights/panels.hpp) as the device reads them: 16 bytes at a time, which hold a
// few neighbouring rows at one or more k.
#pragma once

#include <ashlar/cuda/row_access.hpp>
#include <ashlar/cuda/weight_types.hpp>
#include <ashlar/weights/panels.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// A weight matrix [N, K] on the device. Rows of a file are row_bytes apart.
struct DeviceWeights {
  const std::uint8_t* data = nullptr;
  index_t rows = 0, columns = 0, row_bytes = 0;

  DeviceWeights() = default;
  /// Of a matrix whose data lie on the device.
  explicit DeviceWeights(const WeightMatrix& w)
      : data(reinterpret_cast<const std::uint8_t*>(w.data())),
        rows(w.rows()),
        columns(w.columns()),
        row_bytes(w.row_bytes()) {}
};

/// A code of up to 8 bits as a float, without the slow conversion: 2^23 + code, less 2^23.
ASHLAR_DEVICE float code_value(std::uint32_t code) {
  return __builtin_bit_cast(float, 0x4b000000u | code) - 8388608.f;
}

/// Piece i of a panel holds rows first_row(i) .. + rows - 1 at k first_k(i) .. in `parts` parts of
/// `depth` k each; pieces are numbered k major. Their values are those of decode_row, bit by bit.
template <DType Type>
struct PanelPieces {
  static_assert(is_weight_type(Type), "ashlar: no device code for weights of this type");
  static constexpr bool blocks = is_quantized(Type);
  static constexpr int rows = Type == DType::f16 ? 8 : 4;
  static constexpr int depth = blocks ? 4 : Type == DType::bf16 ? 2 : 1;
  static constexpr int parts = blocks && Type != DType::q8_0 ? 2 : 1;
  static constexpr int side_by_side = 16 / rows;

  /// What is read of a piece: its codes, and the scales and offsets of its rows in half precision.
  struct Stored {
    Quad codes;
    Words<2> scale, offset;
  };

  ASHLAR_DEVICE static index_t count(index_t K) {
    return ceil_div(K, parts * depth) * side_by_side;
  }
  ASHLAR_DEVICE static index_t panel_size(index_t K) {
    return blocks ? K / 32 * block_bytes : count(K) * 16;
  }
  ASHLAR_DEVICE static int first_row(index_t i) {
    return static_cast<int>(i % side_by_side) * rows;
  }
  ASHLAR_DEVICE static index_t first_k(index_t i) { return i / side_by_side * (parts * depth); }

  template <class P>
  ASHLAR_DEVICE static Stored load(const std::uint8_t* panel, index_t i) {
    Stored s{};
    if constexpr (blocks) {
      constexpr int in_block = 32 / (parts * depth) * side_by_side;
      const std::uint8_t* block = panel + i / in_block * block_bytes;
      const int at = static_cast<int>(i % in_block);
      s.codes = P::load_once(block + codes_at + 16 * at);
      s.scale = P::template load<Words<2>>(block + 8 * (at % side_by_side));
      if constexpr (Type == DType::q4_1)
        s.offset = P::template load<Words<2>>(block + 32 + 8 * (at % side_by_side));
    } else {
      s.codes = P::load_once(panel + 16 * i);
    }
    return s;
  }

  /// w[row][k] of a part as floats.
  template <class P>
  ASHLAR_DEVICE static void values(const Stored& s, [[maybe_unused]] int part,
                                   float (&w)[rows][depth]) {
    if constexpr (Type == DType::f32) {
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < 4; ++r) w[r][0] = __builtin_bit_cast(float, s.codes.word[r]);
    } else if constexpr (Type == DType::f16) {
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < 8; r += 2)
        P::template unpack<half>(s.codes.word[r / 2], w[r][0], w[r + 1][0]);
    } else if constexpr (Type == DType::bf16) {
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < 4; ++r) P::template unpack<bfloat16>(s.codes.word[r], w[r][0], w[r][1]);
    } else {
      float d[4], m[4];
      to_floats<P, half>(s.scale, d);
      if constexpr (Type == DType::q4_1) to_floats<P, half>(s.offset, m);
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < 4; ++r) {
        ASHLAR_DEVICE_UNROLL
        for (int k = 0; k < depth; ++k) {
          const std::uint32_t word = s.codes.word[r];
          if constexpr (Type == DType::q8_0)
            w[r][k] = (code_value(word >> (8 * k) & 255u) - 128.f) * d[r];
          else
            w[r][k] = std::fma(code_value(word >> (8 * k + 4 * part) & 15u), d[r],
                               Type == DType::q4_1 ? m[r] : -8.f * d[r]);
        }
      }
    }
  }

 private:
  static constexpr PanelBlock format = panel_block(Type);
  static constexpr index_t block_bytes = format.bytes();
  static constexpr index_t codes_at = format.codes();
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
