// Launches of kernels, as every op on a device makes them.
#pragma once

#include <ashlar/cuda/kernel_shell.cuh>
#include <ashlar/cuda/launch.hpp>
#include <ashlar/cuda/launch_sm90.cuh>
#include <ashlar/cuda/runtime.cuh>

namespace ashlar::inline ASHLAR_ABI::cuda {

template <class Kernel>
bool is_compiled(const Device& device) {
  static_assert(NeedsSm90a<Kernel>);
  return has_sm90a_code<Kernel>(device);
}

template <class Kernel>
void launch(Context<backend::CudaGpu>& ctx, std::string_view name,
            const typename Kernel::Arguments& arguments) {
  if constexpr (NeedsSm90a<Kernel>) {
    launch_sm90<Kernel>(ctx, name, arguments);
  } else {
    constexpr int compiled[] = {__CUDA_ARCH_LIST__};
    check_architecture(name, Kernel::needs_architecture, compiled, ctx.device().architecture);
    enqueue(ctx, name, &kernel_shell<Kernel>, Kernel::grid(arguments), Kernel::threads,
            Kernel::shared_bytes(arguments), arguments);
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
