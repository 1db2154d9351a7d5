// Rings of places in shared memory that one thread fills by TMA and warps empty.
#pragma once

#include <ashlar/core/types.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// The barriers of `Stages` places. A place is full when its bytes are there, and free when every
/// reader has released it; each round of the ring is one phase of both.
template <int Stages>
struct Ring {
  static_assert(Stages > 0 && (Stages & (Stages - 1)) == 0);
  static constexpr std::uint32_t bytes = 2 * Stages * 8;
  std::uint32_t base;

  /// Where a thread is in the ring: how many places it has passed.
  struct Place {
    std::uint32_t passed = 0;

    ASHLAR_DEVICE std::uint32_t stage() const { return passed % Stages; }
    ASHLAR_DEVICE std::uint32_t phase() const { return passed / Stages & 1u; }
    ASHLAR_DEVICE void advance() { ++passed; }
  };
  ASHLAR_DEVICE std::uint32_t full(const Place& at) const { return base + 8 * at.stage(); }
  ASHLAR_DEVICE std::uint32_t free(const Place& at) const {
    return full(at) + 8 * std::uint32_t{Stages};
  }
  /// By one thread, before anyone uses them.
  template <class P>
  ASHLAR_DEVICE void init(int readers) const {
    Place at;
    for (; at.passed < Stages; at.advance()) {
      P::init_barrier(full(at), 1);
      P::init_barrier(free(at), readers);
    }
  }
  /// Waits until the place's bytes are there.
  template <class P>
  ASHLAR_DEVICE void wait_full(const Place& at) const {
    P::wait_barrier(full(at), at.phase());
  }
  /// Waits until its readers have released what was there the round before.
  template <class P>
  ASHLAR_DEVICE void wait_free(const Place& at) const {
    P::wait_barrier(free(at), at.phase() ^ 1u);
  }
  /// By every warp that reads; `lane` is the thread's.
  template <class P>
  ASHLAR_DEVICE void release(Place& at, int lane) const {
    if (lane == 0) P::arrive(free(at));
    at.advance();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
