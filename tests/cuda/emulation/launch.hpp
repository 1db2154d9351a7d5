// Runs a kernel of ashlar::cuda on the emulated device, block after block.
//
// Compiled by nvcc, the same tests run on the real device (../../gpu/launch.cuh).
#pragma once

#if defined(__CUDACC__)
#  include "gpu/launch.cuh"
#else

#  include "device_sm90.hpp"

namespace emulation {

/// Whether tests run on the emulated device, which counts what it does and chooses orders.
inline constexpr bool is_emulated = true;

/// What the device would do for the launch of a kernel; throws Fault.
template <class Kernel>
Counters launch(const typename Kernel::Arguments& arguments, Schedule schedule = {}) {
  const auto grid = Kernel::grid(arguments);
  Block block(Kernel::threads, Kernel::shared_bytes(arguments), schedule);
  const auto run = [&](const std::function<void()>& body) {
    const auto index = [](std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) {
      return BlockIndex{static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
    };
    block.grid = index(grid.x, grid.y, grid.z);
    for (std::ptrdiff_t z = 0; z < grid.z; ++z)
      for (std::ptrdiff_t y = 0; y < grid.y; ++y)
        for (std::ptrdiff_t x = 0; x < grid.x; ++x) block.run(index(x, y, z), body);
  };
  if constexpr (requires { typename Kernel::Mapped; }) {  // with tensor maps, for sm_90a
    const auto mapped = Kernel::mapped(arguments, encode_map);
    run([&] { Kernel::template run<DeviceSm90>(mapped); });
  } else {
    run([&] { Kernel::template run<Device>(arguments); });
  }
  return block.counters;
}

}  // namespace emulation

#endif
