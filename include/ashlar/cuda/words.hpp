// Aligned 32-bit words: what a thread reads from or writes to memory with one instruction.
#pragma once

#include <ashlar/core/dtype.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

template <int Count>
struct alignas(4 * Count) Words {
  std::uint32_t word[Count];
};
/// The widest access.
using Quad = Words<4>;

}  // namespace ashlar::inline ASHLAR_ABI::cuda
