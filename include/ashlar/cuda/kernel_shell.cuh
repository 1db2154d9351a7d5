// The one __global__ function that every kernel runs in.
#pragma once

#include <ashlar/cuda/ptx.cuh>

namespace ashlar::inline ASHLAR_ABI::cuda {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks_per_multiprocessor)
    kernel_shell(const __grid_constant__ typename Kernel::Arguments arguments) {
  Kernel::template run<Ptx>(arguments);
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
