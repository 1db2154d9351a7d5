// Packing: from rows, as files store them, to panels.
#pragma once

#include <ashlar/backend/parallel.hpp>
#include <ashlar/core/buffer.hpp>
#include <ashlar/weights/bytes.hpp>
#include <ashlar/weights/panels.hpp>

namespace ashlar::inline ASHLAR_ABI {
namespace detail {

inline void write_u32(std::uint8_t* p, std::uint32_t v) { std::memcpy(p, &v, 4); }
inline std::uint32_t read_u16(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0] | (p[1] << 8));
}

/// 32-bit elements of `rows` rows, `stride` bytes apart, as [words][16].
inline void pack_words(const std::uint8_t* source, index_t stride, index_t rows, index_t words,
                       std::uint8_t* out) {
  constexpr index_t step = 16;  // one cache line of each row at a time
  for (index_t k0 = 0; k0 < words; k0 += step) {
    const index_t end = min_index(words, k0 + step);
    for (index_t r = 0; r < rows; ++r)
      for (index_t k = k0; k < end; ++k)
        std::memcpy(out + 64 * k + 4 * r, source + r * stride + 4 * k, 4);
  }
}
/// 16-bit elements as [K][16]: two rows and two k at a time, to store 32 bits.
inline void pack_halves(const std::uint8_t* source, index_t stride, index_t rows, index_t K,
                        std::uint8_t* out) {
  constexpr index_t step = 32;
  for (index_t k0 = 0; k0 < K; k0 += step)
    for (index_t r = 0; r < rows; r += 2) {
      const std::uint8_t* a = source + r * stride;
      const std::uint8_t* b = r + 1 < rows ? a + stride : nullptr;
      const index_t end = min_index(K, k0 + step);
      index_t k = k0;
      for (; k + 1 < end && b; k += 2) {
        const std::uint32_t va = read_u32(a + 2 * k), vb = read_u32(b + 2 * k);
        write_u32(out + 32 * k + 2 * r, (va & 0xffffu) | (vb << 16));
        write_u32(out + 32 * (k + 1) + 2 * r, (va >> 16) | (vb & 0xffff0000u));
      }
      for (; k < end; ++k)
        write_u32(out + 32 * k + 2 * r, read_u16(a + 2 * k) | (b ? read_u16(b + 2 * k) << 16 : 0));
    }
}
/// bfloat16 as [K/2][16][2].
inline void pack_bfloat16(const std::uint8_t* source, index_t stride, index_t rows, index_t K,
                          std::uint8_t* out) {
  pack_words(source, stride, rows, K / 2, out);
  if (K % 2 == 0) return;
  for (index_t r = 0; r < panel_rows; ++r)
    write_u32(out + K / 2 * 64 + 4 * r, r < rows ? read_u16(source + r * stride + 2 * (K - 1)) : 0);
}

/// Writes the 32 four-bit codes of lane r; word(k) gives those of k .. k + 3, one a byte.
template <class Word>
inline void put_nibbles(std::uint8_t* lane, const Word& word) {
  for (int g = 0; g < 4; ++g) write_u32(lane + 64 * g, word(8 * g) | (word(8 * g + 4) << 4));
}
/// Four-bit codes at q: low nibbles are k = 0 .. 15, high nibbles 16 .. 31.
inline void put_file_nibbles(std::uint8_t* lane, const std::uint8_t* q) {
  put_nibbles(lane, [&](int k) { return (read_u32(q + k % 16) >> (k / 16 * 4)) & 0x0f0f0f0fu; });
}
/// Bit k of `bits` to bit 8b + i, k = 4i + b.
inline std::uint32_t spread_bits(std::uint32_t bits) {
  std::uint32_t word = 0;
  for (int i = 0; i < 8; ++i)
    word |= ((((bits >> (4 * i)) & 15u) * 0x00204081u) & 0x01010101u) << i;
  return word;
}

/// One block of a file as lane r of a panel; `out` is the super-block.
inline void pack_block(DType type, const std::uint8_t* b, index_t r, std::uint8_t* out) {
  const PanelBlock format = panel_block(type);
  std::memcpy(out + 2 * r, type == DType::q6_k ? b + 208 : b, 2);
  if (type == DType::q4_1 || type == DType::q5_1 || type == DType::q4_k || type == DType::q5_k)
    std::memcpy(out + 32 + 2 * r, b + 2, 2);
  std::uint8_t* codes = out + format.codes() + 4 * r;
  std::uint8_t* high = out + format.scale_bytes + 4 * r;
  switch (type) {
    case DType::q8_0:
      for (int g = 0; g < 8; ++g) write_u32(codes + 64 * g, read_u32(b + 2 + 4 * g) ^ 0x80808080u);
      return;
    case DType::q4_0:
      return put_file_nibbles(codes, b + 2);
    case DType::q4_1:
      return put_file_nibbles(codes, b + 4);
    case DType::q5_0:
      write_u32(high, spread_bits(read_u32(b + 2)));
      return put_file_nibbles(codes, b + 6);
    case DType::q5_1:
      write_u32(high, spread_bits(read_u32(b + 4)));
      return put_file_nibbles(codes, b + 8);
    default:
      break;
  }
  for (int s = 0; s < 8; ++s) {  // the K types
    std::uint8_t* block = out + format.at(s);
    codes = block + format.codes() + 4 * r;
    high = block + format.scale_bytes + 4 * r;
    if (type == DType::q6_k) {
      const int n = s / 4, k6 = s % 4;
      block[r] = b[192 + 2 * s];
      block[16 + r] = b[192 + 2 * s + 1];
      for (int p = 0; p < 2; ++p) {
        std::uint32_t word = 0;
        for (int i = 0; i < 4; ++i)
          word |= ((read_u32(b + 128 + 32 * n + 16 * p + 4 * i) >> (2 * k6)) & 0x03030303u)
                  << (2 * i);
        write_u32(high + 64 * p, word);
      }
      const std::uint8_t* q = b + 64 * n + 32 * (k6 & 1);
      put_nibbles(codes, [&](int k) { return (read_u32(q + k) >> (k6 / 2 * 4)) & 0x0f0f0f0fu; });
      continue;
    }
    const KScale scale = k_scale(b + 4, s);
    block[r] = static_cast<std::uint8_t>(scale.scale);
    block[16 + r] = static_cast<std::uint8_t>(scale.minimum);
    if (type == DType::q5_k) {
      std::uint32_t word = 0;
      for (int i = 0; i < 8; ++i) word |= ((read_u32(b + 16 + 4 * i) >> s) & 0x01010101u) << i;
      write_u32(high, word);
    }
    const std::uint8_t* q = b + (type == DType::q5_k ? 48 : 16) + 32 * (s / 2);
    put_nibbles(codes, [&](int k) { return (read_u32(q + k) >> (s % 2 * 4)) & 0x0f0f0f0fu; });
  }
}

/// Columns [k0, k1) of the panel that begins with row n0 of a matrix in rows; k0 is a multiple of
/// 256, k1 too or K.
inline void pack_panel(const WeightMatrix& w, index_t n0, index_t k0, index_t k1, std::byte* out) {
  const DType type = w.type();
  const DTypeInfo i = info(type);
  const index_t rows = min_index(panel_rows, w.rows() - n0), stride = w.row_bytes();
  const auto* source =
      reinterpret_cast<const std::uint8_t*>(w.data()) + n0 * stride + k0 / i.elements * i.bytes;
  auto* to = reinterpret_cast<std::uint8_t*>(out);
  if (rows < panel_rows) std::memset(to, 0, static_cast<std::size_t>(panel_bytes(type, k1 - k0)));
  if (type == DType::f32) return pack_words(source, stride, rows, k1 - k0, to);
  if (type == DType::f16) return pack_halves(source, stride, rows, k1 - k0, to);
  if (type == DType::bf16) return pack_bfloat16(source, stride, rows, k1 - k0, to);
  const index_t bytes = panel_bytes(type, i.elements);
  for (index_t b = 0; b < (k1 - k0) / i.elements; ++b)
    for (index_t r = 0; r < rows; ++r)
      pack_block(type, source + r * stride + b * i.bytes, r, to + b * bytes);
}

}  // namespace detail

/// Packs a matrix in rows into panels: packed_bytes(type, N, K) bytes at `out`, which then are
/// WeightMatrix(out, type, N, K, WeightLayout::panels). A slice of rows is a matrix too.
/// Throws ValueError for a matrix that is not in rows.
inline void pack_panels(const WeightMatrix& w, std::byte* out, const Executor& executor = {}) {
  if (w.layout() != WeightLayout::rows)
    fail<ValueError>("pack_panels: the weights are in panels, expected rows");
  const index_t bytes = panel_bytes(w.type(), w.columns());
  parallel_for(executor, ceil_div(w.rows(), panel_rows), [&](index_t p, int) {
    detail::pack_panel(w, p * panel_rows, 0, w.columns(), out + p * bytes);
  });
}

/// As pack_panels, for N rows of K elements that need not be neighbours: row n begins at row(n).
template <class Row>
void pack_gathered(DType type, index_t N, index_t K, const Row& row, std::byte* out,
                   const Executor& executor = {}) {
  const index_t row_bytes = K / info(type).elements * info(type).bytes;
  Buffer<std::byte> copies(executor.workers * panel_rows * row_bytes);
  parallel_for(executor, ceil_div(N, panel_rows), [&](index_t p, int worker) {
    const index_t n0 = p * panel_rows, rows = min_index(panel_rows, N - n0);
    const std::byte* first = row(n0);
    bool neighbours = true;
    for (index_t r = 1; r < rows; ++r)
      neighbours = neighbours && row(n0 + r) == first + r * row_bytes;
    if (!neighbours) {
      std::byte* copy = copies.data() + worker * panel_rows * row_bytes;
      for (index_t r = 0; r < rows; ++r)
        std::memcpy(copy + r * row_bytes, row(n0 + r), static_cast<std::size_t>(row_bytes));
      first = copy;
    }
    detail::pack_panel(WeightMatrix(first, type, rows, K, WeightLayout::rows), 0, 0, K,
                       out + p * panel_bytes(type, K));
  });
}

/// Where a row of W lies when W is stored transposed: its elements are `stride` bytes apart.
struct StoredColumn {
  const std::byte* first;
  index_t stride;
};

/// As pack_gathered, for a matrix whose row n lies at column(n), a StoredColumn, at any address.
template <Element T, class Column>
void pack_gathered_transposed(index_t N, index_t K, const Column& column, std::byte* out,
                              const Executor& executor = {}) {
  static_assert(!std::is_same_v<T, double>, "ashlar: weights are float, half or bfloat16");
  const index_t pair = std::is_same_v<T, bfloat16> ? 2 : 1;
  const index_t elements = round_up(K, pair) * panel_rows;
  parallel_for(executor, ceil_div(N, panel_rows), [&](index_t p, int) {
    auto* panel = reinterpret_cast<T*>(out) + p * elements;
    const index_t n0 = p * panel_rows, rows = min_index(panel_rows, N - n0);
    StoredColumn columns[panel_rows] = {};
    for (index_t r = 0; r < rows; ++r) columns[r] = column(n0 + r);
    for (index_t k = 0; k < round_up(K, pair); ++k)
      for (index_t r = 0; r < panel_rows; ++r)
        panel[(k / pair * panel_rows + r) * pair + k % pair] =
            k < K && r < rows ? load<T>(columns[r].first + k * columns[r].stride) : T{};
  });
}

/// Packs W [N, K] stored transposed, as [K in, N out] (GPT-2's order).
template <Element T>
void pack_panels_transposed(MatrixView<const T> in_out, std::byte* out,
                            const Executor& executor = {}) {
  constexpr auto size = static_cast<index_t>(sizeof(T));
  pack_gathered_transposed<T>(
      in_out.extent(1), in_out.extent(0),
      [&](index_t n) {
        return StoredColumn{reinterpret_cast<const std::byte*>(in_out.data() + n),
                            in_out.stride(0) * size};
      },
      out, executor);
}

}  // namespace ashlar::inline ASHLAR_ABI
