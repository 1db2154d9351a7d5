// Names of the backends. A tag stays an incomplete type until its entry header (ashlar/simd.hpp,
// ashlar/eigen.hpp, ..) has included all of its kernels: two translation units can then never
// disagree about which kernels a backend has.
#pragma once

#include <ashlar/config.hpp>

namespace ashlar::inline ASHLAR_ABI {

enum class MemorySpace { host, device };

/// Resources of one chain of calls: scratch memory and threads, or a stream. One per backend.
template <class B>
class Context;

namespace backend {
struct None;       // ends every fallback chain
struct ScalarCpu;  // readable reference; always there
struct SimdCpu;    // xsimd; falls back to ScalarCpu
struct EigenCpu;   // Eigen's matrix products; falls back to SimdCpu
struct CudaGpu;    // no fallback
}  // namespace backend

}  // namespace ashlar::inline ASHLAR_ABI
