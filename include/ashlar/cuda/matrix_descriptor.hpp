// How wgmma is told where a tile lies in shared memory. Source: PTX ISA, matrix descriptor of
// wgmma.mma_async, 128-byte swizzle.
#pragma once

#include <ashlar/cuda/shared_tile.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// A descriptor of groups of 8 rows of 128 bytes: `stride` bytes from a group to the next one,
/// `leading` bytes from a panel to the next one where an instruction spans several.
ASHLAR_HD constexpr std::uint64_t matrix_descriptor(std::uint32_t address, std::uint32_t leading,
                                                    std::uint32_t stride) {
  const auto field = [](std::uint32_t bytes) { return std::uint64_t{(bytes & 0x3ffffu) >> 4}; };
  return field(address) | field(leading) << 16 | field(stride) << 32 | std::uint64_t{1} << 62;
}

/// Columns 16 step .. 16 step + 15 of a tile whose rows are those of the first operand, or the
/// columns of the second one: q and k. `tile` is the address of its first row, a multiple of 8.
template <class Tile>
ASHLAR_HD constexpr std::uint64_t row_operand(std::uint32_t tile, int step) {
  const int panel = step / 4, in_panel = step % 4 * 32;
  return matrix_descriptor(tile, chunk_bytes, 1024) +
         (static_cast<std::uint32_t>(panel * (Tile::rows * 128) + in_panel) >> 4);
}
/// Rows 16 step .. 16 step + 15 of a tile whose rows are those of the second operand: v.
template <class Tile>
ASHLAR_HD constexpr std::uint64_t column_operand(std::uint32_t tile, int step) {
  return matrix_descriptor(tile, Tile::rows * 128, 1024) +
         (static_cast<std::uint32_t>(step * 2048) >> 4);
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
