// How a tile of 16-bit elements lies in shared memory, so that no two rows that are read together
// share a bank.
#pragma once

#include <ashlar/core/types.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Elements of 16 bits that one copy or one row of a matrix fragment holds.
inline constexpr int chunk_elements = 8;
inline constexpr int chunk_bytes = 16;

/// Rows x Columns elements as panels of 64 columns: a row of a panel is 128 bytes, eight chunks of
/// 16 bytes, and chunk c of row r stands at place c xor r mod 8. Eight neighbouring rows of one
/// chunk column, which ldmatrix reads at once, then lie in eight different groups of banks. It is
/// the 128-byte swizzle of TMA and wgmma. A tile begins at a multiple of 1024 bytes.
template <int Rows, int Columns>
struct SharedTile {
  static_assert(Rows % 8 == 0 && Columns % 64 == 0);
  static constexpr int rows = Rows, columns = Columns, chunks = Columns / chunk_elements;
  static constexpr std::uint32_t bytes = std::uint32_t{Rows} * Columns * 2;

  /// Bytes from the tile's begin to a chunk.
  ASHLAR_HD static constexpr std::uint32_t offset(int row, int chunk) {
    const int panel = chunk >> 3, place = (chunk & 7) ^ (row & 7);
    return static_cast<std::uint32_t>(panel * (Rows * 128) + row * 128 + place * chunk_bytes);
  }
  /// The address of offset(row, chunk + 2 k) from that of offset(row, chunk), chunk 0 or 1: bits
  /// that the swizzle leaves apart, so that a step costs one xor.
  ASHLAR_HD static constexpr std::uint32_t step(std::uint32_t address, int k) {
    return (address ^ static_cast<std::uint32_t>((k & 3) << 5)) +
           static_cast<std::uint32_t>((k >> 2) * (Rows * 128));
  }
  /// Bytes from a row to the one n rows below it, n a multiple of 8.
  ASHLAR_HD static constexpr std::uint32_t rows_down(int n) {
    return static_cast<std::uint32_t>(n * 128);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
