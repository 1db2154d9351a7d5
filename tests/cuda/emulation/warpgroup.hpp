// The products of warpgroups (wgmma m64nNk16) on an emulated block, from the layouts of the PTX
// ISA.
#pragma once

#include <cmath>

#include "block.hpp"

namespace emulation {

/// One product of a warp: its 16 rows of the warpgroup's 64.
struct Product {
  float* d[32];                // of each lane: N / 2 sums
  const std::uint32_t* a[32];  // null: in shared memory, by descriptor
  std::uint64_t a_tile, b_tile;
  int n;
  bool b_by_rows;  // a row of b's tile is a row of the product (transposed in terms of the ISA)
  bool add;
  float (*element)(std::uint16_t);
  std::vector<float> before;  // sums of all lanes, where they were hidden while it is under way

  /// Shared address of an element of an operand: row is that of its tile in M or N, k along K. In a
  /// tile by rows, 64 columns of M or N are a panel, and 8 rows of K a group.
  static std::uint32_t address(std::uint64_t tile, int mn, int k, bool by_rows) {
    const auto field = [&](int shift) {
      return static_cast<std::uint32_t>(tile >> shift & 0x3fff) << 4;
    };
    const std::uint32_t start = field(0), leading = field(16), stride = field(32);
    const auto u = [](int x) { return static_cast<std::uint32_t>(x); };
    const std::uint32_t at =
        by_rows ? start + u(mn % 64 * 2) + u(mn / 64) * leading + u(k % 8 * 128) + u(k / 8) * stride
                : start + u(k * 2) + u(mn % 8 * 128) + u(mn / 8) * stride;
    return at ^ (at >> 3 & 0x70u);  // the swizzle is one of addresses
  }
};

/// What a warp has issued and not waited for.
struct WarpProducts {
  bool fenced = false;
  std::vector<Product> open;
  std::vector<std::vector<Product>> groups;
  std::size_t issued = 0;
};

/// Reads an operand of `rows` x 16 elements, eight at once, and calls use(mn, k, values).
template <class Use>
void read_operand(Block& b, std::uint64_t tile, int first, int rows, bool by_rows, Use use) {
  if (tile >> 62 != 1 || (tile >> 49 & 7) != 0)
    b.fail("wgmma: a descriptor without the 128-byte swizzle");
  std::uint16_t x[8];
  const auto load = [&](int mn, int k) {
    const std::uint32_t at = Product::address(tile, mn, k, by_rows);
    b.check(b.shared.check_read(at, 16, b.accessor(0), Proxy::async), "wgmma");
    std::memcpy(x, b.shared.at(at), 16);
  };
  if (by_rows)
    for (int k = 0; k < 16; ++k)
      for (int mn = first; mn < first + rows; mn += 8) {
        load(mn, k);
        for (int i = 0; i < 8; ++i) use(mn + i, k, x[i]);
      }
  else
    for (int mn = first; mn < first + rows; ++mn)
      for (int k = 0; k < 16; k += 8) {
        load(mn, k);
        for (int i = 0; i < 8; ++i) use(mn, k + i, x[i]);
      }
}

/// Checks an operand's reads against what its warp knows now.
inline void check_operands(Block& b, const Product& p) {
  const auto ignore = [](int, int, std::uint16_t) {};
  if (!p.a[0]) read_operand(b, p.a_tile, b.thread() / 32 % 4 * 16, 16, false, ignore);
  read_operand(b, p.b_tile, 0, p.n, p.b_by_rows, ignore);
}

/// Computes it for the warp that runs.
inline void multiply(Block& b, const Product& p) {
  static thread_local float left[16][16], right[16][256], sum[16][256];
  const int first = b.thread() / 32 % 4 * 16;
  if (p.a[0])
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 8; ++i)  // as the first operand of mma.m16n8k16
        left[lane / 4 + (i & 2 ? 8 : 0)][lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)] =
            p.element(static_cast<std::uint16_t>(p.a[lane][i / 2] >> (16 * (i & 1))));
  else
    read_operand(b, p.a_tile, first, 16, false,
                 [&](int row, int k, std::uint16_t x) { left[row - first][k] = p.element(x); });
  read_operand(b, p.b_tile, 0, p.n, p.b_by_rows,
               [&](int n, int k, std::uint16_t x) { right[k][n] = p.element(x); });
  const auto at = [&](int lane, int i) -> float& {
    return sum[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2];
  };
  const std::size_t count = static_cast<std::size_t>(p.n) / 2;
  for (int lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < count; ++i) {
      const float from =
          p.before.empty() ? p.d[lane][i] : p.before[static_cast<std::size_t>(lane) * count + i];
      at(lane, static_cast<int>(i)) = p.add ? from : 0.f;
    }
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k) {
      const float x = left[row][k];
      for (int n = 0; n < p.n; ++n) sum[row][n] += x * right[k][n];
    }
  for (int lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < count; ++i) p.d[lane][i] = at(lane, static_cast<int>(i));
}

}  // namespace emulation
