// Puts a kernel on a context's stream: what every op on a device ends in.
#pragma once

#include <ashlar/cuda/context.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Enqueues a kernel. Throws ValueError when the device cannot run it as it was compiled, and
/// CudaError when the launch fails. Defined in cuda/launch.cuh; tests define it for a device that
/// is emulated on the host.
template <class Kernel>
void launch(Context<backend::CudaGpu>& ctx, std::string_view name,
            const typename Kernel::Arguments& arguments);

/// Whether a kernel is of sm_90a: it runs on sm_90 only, and in code that is compiled for sm_90a.
template <class Kernel>
concept NeedsSm90a = requires {
  typename Kernel::Mapped;
};

/// Whether the program holds a kernel of sm_90a in code that the device runs. Defined beside
/// launch().
template <class Kernel>
bool is_compiled(const Device& device);

}  // namespace ashlar::inline ASHLAR_ABI::cuda
