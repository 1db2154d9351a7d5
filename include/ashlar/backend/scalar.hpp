// ScalarCpu: plain loops, the readable reference of every kernel. f32, f64, and 16-bit activations.
#pragma once

#include <ashlar/backend/host_context.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace backend {
struct ScalarCpu {
  using fallback = None;
  static constexpr std::string_view name = "scalar";
  static constexpr MemorySpace space = MemorySpace::host;
};
}  // namespace backend

template <>
class Context<backend::ScalarCpu> : public HostContext {
 public:
  using HostContext::HostContext;
};
static_assert(Backend<backend::ScalarCpu>);

}  // namespace ashlar::inline ASHLAR_ABI
