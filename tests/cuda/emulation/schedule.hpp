// What a test says of a run, and what it learns from one.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace emulation {

/// When asynchronous copies land: as late as the waits allow, or as they are issued.
enum class Copies { lazy, eager };
struct Schedule {
  Copies copies = Copies::lazy;
  std::uint64_t seed = 1;
};
/// What the emulated hardware did.
struct Counters {
  std::uint64_t products = 0, warpgroup_products = 0, matrix_loads = 0, wavefronts = 0, copies = 0,
                barriers = 0;

  Counters& operator+=(const Counters& c) {
    products += c.products;
    warpgroup_products += c.warpgroup_products;
    matrix_loads += c.matrix_loads;
    wavefronts += c.wavefronts;
    copies += c.copies;
    barriers += c.barriers;
    return *this;
  }
};
/// A fault of the kernel: a race, a deadlock, a divergent or misaligned instruction.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace emulation
