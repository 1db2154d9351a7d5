// Puts a kernel on a context's stream: what every op on a device ends in.
#pragma once

#include <ashlar/cuda/context.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Enqueues a kernel. Throws ValueError when the device cannot run it as it was compiled, and
/// CudaError when the launch fails. Defined in cuda/launch.cuh; tests define it for a device that is
/// emulated on the host.
template <class Kernel>
void launch(Context<backend::CudaGpu>& ctx, std::string_view name,
            const typename Kernel::Arguments& arguments);

}  // namespace ashlar::inline ASHLAR_ABI::cuda
