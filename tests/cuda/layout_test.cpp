// Layouts in shared memory and fragments, by the compiler where it can.
#include <gtest/gtest.h>

#include <ashlar/cuda/fragment.hpp>
#include <ashlar/cuda/shared_tile.hpp>
#include <set>

namespace {

using namespace ashlar::cuda;

/// Every chunk has a place of its own inside the tile.
template <class Tile>
constexpr bool is_bijective() {
  bool taken[Tile::bytes / 16] = {};
  for (int row = 0; row < Tile::rows; ++row)
    for (int chunk = 0; chunk < Tile::chunks; ++chunk) {
      const auto at = Tile::offset(row, chunk);
      if (at % 16 != 0 || at >= Tile::bytes || taken[at / 16]) return false;
      taken[at / 16] = true;
    }
  return true;
}
/// step() and rows_down() are offset() by other means.
template <class Tile>
constexpr bool steps_agree() {
  for (int row = 0; row < 8; ++row)
    for (int chunk = 0; chunk < 2; ++chunk)
      for (int k = 0; k < Tile::chunks / 2; ++k)
        for (int down = 0; row + down < Tile::rows; down += 8)
          if (Tile::step(2048 + Tile::offset(row, chunk), k) + Tile::rows_down(down) !=
              2048 + Tile::offset(row + down, chunk + 2 * k))
            return false;
  return true;
}
/// Eight rows of one chunk column, as ldmatrix reads them, lie in eight groups of four banks.
template <class Tile>
constexpr bool is_free_of_conflicts() {
  for (int first = 0; first < Tile::rows; first += 8)
    for (int chunk = 0; chunk < Tile::chunks; ++chunk) {
      unsigned groups = 0;
      for (int row = 0; row < 8; ++row) groups |= 1u << (Tile::offset(first + row, chunk) / 16 % 8);
      if (groups != 0xff) return false;
    }
  return true;
}
template <class Tile>
constexpr bool is_right() {
  return is_bijective<Tile>() && steps_agree<Tile>() && is_free_of_conflicts<Tile>();
}
static_assert(is_right<SharedTile<16, 64>>());
static_assert(is_right<SharedTile<128, 64>>());
static_assert(is_right<SharedTile<64, 128>>());
static_assert(is_right<SharedTile<32, 192>>());
static_assert(is_right<SharedTile<16, 256>>());

/// The formulas of the PTX ISA for the accumulators of m16n8k16.
constexpr bool accumulators_are_those_of_the_isa() {
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int group_id = lane >> 2, thread_in_group = lane & 3;
      if (accumulator_row(lane, i) != (i < 2 ? group_id : group_id + 8)) return false;
      if (accumulator_column(lane, i) != thread_in_group * 2 + (i & 1)) return false;
    }
  return true;
}
static_assert(accumulators_are_those_of_the_isa());

TEST(Fragment, LanesAddressEveryRowOfTheirMatricesOnce) {
  for (const auto operand : {left_operand, right_operand}) {
    std::set<std::pair<int, int>> seen;
    for (int lane = 0; lane < 32; ++lane) {
      const MatrixRow at = operand(lane);
      EXPECT_TRUE(at.row >= 0 && at.row < 16 && at.chunk >= 0 && at.chunk < 2);
      seen.insert({at.row, at.chunk});
    }
    EXPECT_EQ(seen.size(), 32u);
  }
}

TEST(Fragment, MatricesOfTheOperandsComeInTheOrderOfTheRegisters) {
  // First operand: registers are upper left, lower left, upper right, lower right.
  for (int matrix = 0; matrix < 4; ++matrix) {
    EXPECT_EQ(left_operand(8 * matrix).row, matrix % 2 * 8);
    EXPECT_EQ(left_operand(8 * matrix).chunk, matrix / 2);
    // Second one: both halves of k for keys 0 .. 7, then for keys 8 .. 15.
    EXPECT_EQ(right_operand(8 * matrix).row, matrix / 2 * 8);
    EXPECT_EQ(right_operand(8 * matrix).chunk, matrix % 2);
  }
}

}  // namespace
