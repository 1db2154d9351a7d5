// Which element of a matrix each thread of a warp holds, in the fragments of mma.sync m16n8k16 and
// ldmatrix. Source: PTX ISA, matrix fragments of mma.m16n8k16 with 16-bit elements.
#pragma once

#include <ashlar/core/types.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Row of a lane's accumulator element i of 4 in a 16 x 8 block; elements 0, 1 are in the upper
/// half. Four neighbouring lanes, a quad, share two rows.
ASHLAR_HD constexpr int accumulator_row(int lane, int i) { return lane / 4 + 8 * (i / 2); }
/// Its column; elements 2 r and 2 r + 1 are neighbours.
ASHLAR_HD constexpr int accumulator_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

/// A row and a chunk of eight columns, whose address a lane gives to ldmatrix.
struct MatrixRow {
  int row, chunk;
};
/// 16 rows x 16 columns as the first operand; also 16 keys x 16 columns of V, transposed on the
/// way, as the second operand of two neighbouring blocks of 8 columns.
ASHLAR_HD constexpr MatrixRow left_operand(int lane) { return {lane % 16, lane / 16}; }
/// 16 keys x 16 columns of K as the second operand of two neighbouring blocks of 8 keys: registers
/// 0, 1 belong to the first eight keys.
ASHLAR_HD constexpr MatrixRow right_operand(int lane) {
  return {lane % 8 + lane / 16 * 8, lane / 8 % 2};
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
