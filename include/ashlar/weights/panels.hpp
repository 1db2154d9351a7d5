// Panels: the layout of weights that kernels like. 16 rows lie side by side, k major, so that a row
// never leaves its lane of a vector and one layout serves every vector width, M = 1 and large M.
//
//   F32, F16     [K][16]
//   BF16         [K/2][16][2]: even k in the lower half of a 32-bit lane; an odd K ends with zeros
//   quantised    super-blocks, each `super_bytes` of f16 (d[16], dmin[16]) for the K types, then
//                blocks of 32 k:
//     scales     f16 d[16], (m[16]); Q4_K, Q5_K: u8 scale[16], minimum[16]; Q6_K: i8 scale[2][16],
//                one for each 16 k
//     high bits  32-bit words [high_words][16]. One word: bit 8b + i is bit 4 of k = 4i + b. Two
//                words: bits 8b + 2i, + 1 of word p are bits 4, 5 of k = 16p + 4i + b
//     codes      32-bit words [groups][16]. Q8_0: byte b of group g is q + 128 of k = 4g + b.
//     Others:
//                byte b of group g holds k = 8g + b in its low and k = 8g + 4 + b in its high
//                nibble
//
// so that k ascends as bytes stream, and codes and high bits meet after one shift a group of four.
#pragma once

#include <ashlar/core/quant.hpp>
#include <ashlar/weights/weight_matrix.hpp>

namespace ashlar::inline ASHLAR_ABI {

inline constexpr index_t panel_rows = 16;

/// Where the parts of a panel's block of 32 k lie, in bytes.
struct PanelBlock {
  index_t blocks = 0;       // in a super-block
  index_t super_bytes = 0;  // in front of the blocks
  index_t scale_bytes = 0;  // in front of each block
  int high_words = 0;
  int code_bits = 0;

  constexpr index_t codes() const { return scale_bytes + 64 * high_words; }
  constexpr index_t bytes() const { return codes() + 64 * code_bits; }
  /// Byte of block b of the panel.
  constexpr index_t at(index_t b) const { return super_at(b) + super_bytes + b % blocks * bytes(); }
  /// Byte of the super-block that block b belongs to.
  constexpr index_t super_at(index_t b) const {
    return b / blocks * (super_bytes + blocks * bytes());
  }
};
constexpr PanelBlock panel_block(DType type) {
  switch (type) {
    case DType::q8_0:
      return {1, 0, 32, 0, 8};
    case DType::q4_0:
      return {1, 0, 32, 0, 4};
    case DType::q4_1:
      return {1, 0, 64, 0, 4};
    case DType::q5_0:
      return {1, 0, 32, 1, 4};
    case DType::q5_1:
      return {1, 0, 64, 1, 4};
    case DType::q4_k:
      return {8, 64, 32, 0, 4};
    case DType::q5_k:
      return {8, 64, 32, 1, 4};
    case DType::q6_k:
      return {8, 32, 32, 2, 4};
    default:
      return {};
  }
}

/// Bytes of the first K elements of 16 rows.
constexpr index_t panel_bytes(DType type, index_t K) {
  if (type == DType::f32) return K * 64;
  if (type == DType::f16) return K * 32;
  if (type == DType::bf16) return round_up(K, 2) * 32;
  return panel_block(type).super_at(K / 32);
}
/// Bytes of a whole matrix in panels. The last panel is filled up with rows of zeros.
constexpr index_t packed_bytes(DType type, index_t N, index_t K) {
  return ceil_div(N, panel_rows) * panel_bytes(type, K);
}

namespace detail {

/// The code of element j of lane r in a block of 32 k.
inline int panel_code(const PanelBlock& format, const std::uint8_t* block, index_t r, index_t j) {
  const std::uint8_t* codes = block + format.codes() + 4 * r;
  if (format.code_bits == 8) return codes[j / 4 * 64 + j % 4];
  const int byte = codes[j / 8 * 64 + j % 4];
  const int low = j % 8 < 4 ? byte & 15 : byte >> 4;
  const std::uint8_t* high = block + format.scale_bytes + 4 * r + j % 4;
  if (format.high_words == 1) return low | ((high[0] >> (j / 4)) & 1) << 4;
  if (format.high_words == 2) return low | ((high[j / 16 * 64] >> (j % 16 / 4 * 2)) & 3) << 4;
  return low;
}

/// Block b of lane r of a quantised panel as 32 floats, the bits of decode_block.
inline void decode_panel_block(DType type, const std::uint8_t* panel, index_t b, index_t r,
                               float* y) {
  const PanelBlock format = panel_block(type);
  const std::uint8_t* block = panel + format.at(b);
  const std::uint8_t* super = format.super_bytes ? panel + format.super_at(b) : block;
  const float d = read_half(super + 2 * r);
  float scale[2] = {d, d}, offset = 0;
  int zero = 0;
  switch (type) {
    case DType::q8_0:
      zero = 128;
      break;
    case DType::q4_0:
      offset = -8.f * d;
      break;
    case DType::q5_0:
      offset = -16.f * d;
      break;
    case DType::q4_1:
    case DType::q5_1:
      offset = read_half(super + 32 + 2 * r);
      break;
    case DType::q6_k:
      zero = 32;
      for (int half = 0; half < 2; ++half)
        scale[half] = d * static_cast<float>(static_cast<std::int8_t>(block[16 * half + r]));
      break;
    default:  // Q4_K, Q5_K
      scale[0] = scale[1] = d * static_cast<float>(block[r]);
      offset = -(read_half(super + 32 + 2 * r) * static_cast<float>(block[16 + r]));
  }
  for (index_t j = 0; j < 32; ++j) {
    const auto code = static_cast<float>(panel_code(format, block, r, j) - zero);
    y[j] = zero ? scale[j / 16] * code : std::fma(code, scale[j / 16], offset);
  }
}

}  // namespace detail

/// Row n of a weight matrix as K floats: the exact stored values, the same bits for both layouts.
inline void decode_row(const WeightMatrix& w, index_t n, float* out) {
  const index_t K = w.columns();
  if (w.layout() == WeightLayout::rows)
    return decode_elements(w.type(), w.data() + n * w.row_bytes(), K, out);
  const index_t r = n % panel_rows;
  const auto* panel =
      reinterpret_cast<const std::uint8_t*>(w.data()) + n / panel_rows * panel_bytes(w.type(), K);
  if (is_quantized(w.type())) {
    for (index_t b = 0; b < K / 32; ++b)
      detail::decode_panel_block(w.type(), panel, b, r, out + 32 * b);
    return;
  }
  for (index_t k = 0; k < K; ++k) {
    const index_t i =
        w.type() == DType::bf16 ? (k / 2 * panel_rows + r) * 2 + k % 2 : k * panel_rows + r;
    decode_elements(w.type(), panel + i * info(w.type()).bytes, 1, out + k);
  }
}

}  // namespace ashlar::inline ASHLAR_ABI
