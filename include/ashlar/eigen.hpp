// Entry header of the component `eigen`: the backend EigenCpu (needs Eigen and xsimd). Eigen forms
// the matrix products, SimdCpu does the rest.
#pragma once

#include <ashlar/kernels/eigen/linear.hpp>
#include <ashlar/simd.hpp>

namespace ashlar::inline ASHLAR_ABI {

// Last, when all kernels are known: only now the tag becomes a complete type.
namespace backend {
struct EigenCpu {
  using fallback = SimdCpu;
  static constexpr std::string_view name = "eigen";
  static constexpr MemorySpace space = MemorySpace::host;
};
}  // namespace backend

template <>
class Context<backend::EigenCpu> : public HostContext {
 public:
  using HostContext::HostContext;
};
static_assert(Backend<backend::EigenCpu>);

}  // namespace ashlar::inline ASHLAR_ABI
