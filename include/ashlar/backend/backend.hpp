// What a backend is, and how to ask whether it can run an op.
#pragma once

#include <ashlar/backend/tags.hpp>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace ashlar::inline ASHLAR_ABI {

template <class B>
concept Backend = requires {
  typename B::fallback;  // the backend whose kernel is taken where this one has none
  { B::name } -> std::convertible_to<std::string_view>;
  { B::space } -> std::convertible_to<MemorySpace>;
}
&&requires(Context<B>& ctx, std::size_t bytes, void* p) {
  { ctx.allocate(bytes) } -> std::same_as<void*>;  // 64-byte aligned
  ctx.deallocate(p, bytes);
  ctx.synchronize();
};

/// Whether Kernel<B>::run takes these arguments, by a kernel of B itself or of its fallbacks:
/// `can_run_v<kernels::RmsNormKernel, B, HostContext&, MatrixView<const float>, ..>`.
template <template <class> class Kernel, class B, class... Args>
inline constexpr bool can_run_v = requires(Args... args) {
  Kernel<B>::run(args...);
};

}  // namespace ashlar::inline ASHLAR_ABI
