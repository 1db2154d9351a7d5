// The device as CUDA's runtime has it: what it is, errors, and how a kernel is enqueued.
#pragma once

#include <cuda_runtime.h>

#include <ashlar/cuda/context.hpp>
#include <ashlar/cuda/grid.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Throws CudaError unless a call of the runtime succeeded.
inline void check(std::string_view call, cudaError_t code) {
  if (code != cudaSuccess)
    fail_cuda(call, static_cast<int>(code), cudaGetErrorName(code), cudaGetErrorString(code));
}

/// The device that host code needs to make a context. Throws CudaError.
inline Device device(int index = 0) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&value, which, index));
    return value;
  };
  Device d;
  d.index = index;
  d.architecture = 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                   attribute(cudaDevAttrComputeCapabilityMinor);
  d.shared_bytes = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  d.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  d.synchronize = [](CUstream_st* stream) {
    check("cudaStreamSynchronize", cudaStreamSynchronize(stream));
  };
  d.allocate = [](std::size_t bytes) {
    void* p = nullptr;
    check("cudaMalloc", cudaMalloc(&p, bytes));
    return p;
  };
  d.deallocate = [](void* p) { cudaFree(p); };
  d.copy = [](void* to, const void* from, std::size_t bytes, CUstream_st* stream) {
    check("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  };
  return d;
}

/// Enqueues blocks of a kernel. Throws ValueError for more than are possible, and CudaError.
template <class Arguments>
void enqueue(const Context<backend::CudaGpu>& ctx, std::string_view name, void (*kernel)(Arguments),
             const Grid& grid, int threads, std::size_t shared, const Arguments& arguments) {
  if (grid.x * grid.y * grid.z == 0) return;
  if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    fail<ValueError>(name, ": a launch of ", grid.x, " x ", grid.y, " x ", grid.z,
                     " blocks, at most 2147483647 x 65535 x 65535 are possible");
  if (shared > ctx.device().shared_bytes)
    fail<ValueError>(name, ": a block needs ", shared, " bytes of shared memory, the device has ",
                     ctx.device().shared_bytes);
  if (shared > 48 * 1024)
    check("cudaFuncSetAttribute", cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       static_cast<int>(shared)));
  kernel<<<dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                static_cast<unsigned>(grid.z)),
           threads, shared, ctx.stream()>>>(arguments);
  check(name, cudaGetLastError());
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
