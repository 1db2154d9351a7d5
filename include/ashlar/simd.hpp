// Entry header of the component `simd`: the backend SimdCpu (needs xsimd).
#pragma once

#include <ashlar/kernels/simd/attention.hpp>
#include <ashlar/kernels/simd/attention_decode.hpp>
#include <ashlar/kernels/simd/attention_naive.hpp>
#include <ashlar/kernels/simd/elementwise.hpp>
#include <ashlar/kernels/simd/embedding.hpp>
#include <ashlar/kernels/simd/linear.hpp>
#include <ashlar/kernels/simd/map.hpp>
#include <ashlar/kernels/simd/norm.hpp>
#include <ashlar/kernels/simd/rope.hpp>
#include <ashlar/kernels/simd/softmax.hpp>

namespace ashlar::inline ASHLAR_ABI {

// Last, when all kernels are known: only now the tag becomes a complete type.
namespace backend {
struct SimdCpu {
  using fallback = ScalarCpu;
  static constexpr std::string_view name = "simd";
  static constexpr MemorySpace space = MemorySpace::host;
};
}  // namespace backend

template <>
class Context<backend::SimdCpu> : public HostContext {
 public:
  using HostContext::HostContext;
};
static_assert(Backend<backend::SimdCpu>);

}  // namespace ashlar::inline ASHLAR_ABI
