// rope on a device.
#pragma once

#include <ashlar/cuda/launch.hpp>
#include <ashlar/cuda/rope_append.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace cuda {
/// Enqueues rotation and append with the pairing as a type.
template <class T, class Cache>
void launch_rope(Context<backend::CudaGpu>& ctx, std::string_view op, RopePairing pairing,
                 const RopeAppendArguments<T, Cache>& a) {
  if (pairing == RopePairing::half_split)
    launch<RopeAppend<T, Cache, RopePairing::half_split>>(ctx, op, a);
  else
    launch<RopeAppend<T, Cache, RopePairing::interleaved>>(ctx, op, a);
}
}  // namespace cuda

template <>
struct kernels::RopeKernel<backend::CudaGpu> {
  template <Element T>
  static void run(Context<backend::CudaGpu>& ctx, TensorView<const float, 3> table,
                  RopePairing pairing, TensorView<T, 3> x) {
    cuda::RopeAppendArguments<T, cuda::KeyRows<T>> a;  // no keys, nothing to append
    a.q = {x.data(), {1, x.extent(0), x.extent(1), x.extent(2)}, {0, x.stride(0), x.stride(1), 1}};
    a.table = table;
    a.most_tokens = x.extent(0);
    cuda::launch_rope(ctx, "rope", pairing, a);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
