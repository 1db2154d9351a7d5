// What TMA, the copy engine of sm_90, is told of a tensor: extents, strides and the box that one
// copy brings. Host code without CUDA.
#pragma once

#include <ashlar/core/view.hpp>
#include <ashlar/cuda/shared_tile.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// A tensor map: 128 bytes that only the driver, which makes it, and the hardware read.
struct alignas(128) TensorMap {
  std::uint64_t opaque[16] = {};
};

/// What a map is made from: 16-bit elements [H, S, N, B], innermost first, in boxes of 64 x rows,
/// which are panels of a SharedTile. What a box has outside of the tensor becomes 0.
struct TensorBoxes {
  const void* data = nullptr;
  std::uint64_t extents[4] = {};
  std::uint64_t strides[3] = {};  // bytes, of all but the innermost
  std::uint32_t rows = 0;
};

/// Boxes of `rows` rows of x [B, S, N, H].
template <class T>
TensorBoxes tensor_boxes(const TensorView<const T, 4>& x, int rows) {
  static_assert(sizeof(T) == 2);
  TensorBoxes t;
  t.data = x.data();
  t.rows = static_cast<std::uint32_t>(rows);
  const int order[4] = {3, 1, 2, 0};
  for (int i = 0; i < 4; ++i) {
    t.extents[i] = static_cast<std::uint64_t>(x.extent(order[i]));
    if (i == 0) continue;
    // The stride of a single row is never used, and may be anything.
    const bool single = x.extent(order[i]) == 1;
    t.strides[i - 1] = single ? chunk_bytes : static_cast<std::uint64_t>(x.stride(order[i])) * 2;
  }
  return t;
}

/// Whether a map can be made: nothing is empty, rows begin at multiples of 16 bytes, and strides go
/// forward, by less than 2^40 bytes.
inline bool can_be_mapped(const TensorBoxes& t) {
  bool can = reinterpret_cast<std::uintptr_t>(t.data) % chunk_bytes == 0 && t.data != nullptr;
  for (const std::uint64_t n : t.extents) can = can && n > 0 && n <= std::uint64_t{1} << 32;
  for (const std::uint64_t s : t.strides)
    can = can && s > 0 && s % chunk_bytes == 0 && s < std::uint64_t{1} << 40;
  return can;
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
