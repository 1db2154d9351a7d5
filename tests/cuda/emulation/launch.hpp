// Runs a kernel of ashlar::cuda on the emulated device, block after block.
//
// Compiled by nvcc, the same tests run on the real device (../../gpu/launch.cuh).
#pragma once

#if defined(__CUDACC__)
#  include "gpu/launch.cuh"
#else

#  include "device.hpp"

namespace emulation {

/// Whether tests run on the emulated device, which counts what it does and chooses orders.
inline constexpr bool is_emulated = true;

/// What the device would do for the launch of a kernel; throws Fault.
template <class Kernel>
Counters launch(const typename Kernel::Arguments& arguments, Schedule schedule = {}) {
  const auto grid = Kernel::grid(arguments);
  Block block(Kernel::threads, Kernel::shared_bytes(arguments), schedule);
  const std::function<void()> body = [&] { Kernel::template run<Device>(arguments); };
  for (std::ptrdiff_t z = 0; z < grid.z; ++z)
    for (std::ptrdiff_t y = 0; y < grid.y; ++y)
      for (std::ptrdiff_t x = 0; x < grid.x; ++x)
        block.run({static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)}, body);
  return block.counters;
}

}  // namespace emulation

#endif
