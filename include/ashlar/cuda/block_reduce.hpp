// Sums over the threads of a block, in one order always.
#pragma once

#include <ashlar/cuda/words.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Sum over the lanes of a warp, the same bits in each.
template <class P>
ASHLAR_DEVICE float warp_sum(float x) {
  ASHLAR_DEVICE_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) x += P::shuffle_xor(x, mask);
  return x;
}

/// Bytes of shared memory that a sum over `warps` warps takes.
ASHLAR_HD constexpr std::uint32_t sum_bytes(int warps) {
  return 4 * static_cast<std::uint32_t>(warps);
}

/// Sum over a block, the same bits in each thread. Every sum between two barriers of the caller
/// needs a place of its own.
template <class P, int Warps>
ASHLAR_DEVICE float block_sum(float x, std::uint32_t place) {
  x = warp_sum<P>(x);
  if constexpr (Warps == 1) return x;
  const int warp = P::thread() / 32;
  if (P::thread() % 32 == 0) P::store_shared(place + 4 * static_cast<std::uint32_t>(warp), x);
  P::sync_block();
  float sum = 0.f;
  ASHLAR_DEVICE_UNROLL
  for (std::uint32_t w = 0; w < Warps; ++w) sum += P::template load_shared<float>(place + 4 * w);
  return sum;
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
