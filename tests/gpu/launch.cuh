// Where tests of kernels run when nvcc compiles them: on the device that is there.
#pragma once

#include <ashlar/cuda/launch.cuh>

#include "gpu/mirror.hpp"

namespace gpu_test {

/// Device 0, and a stream of its own.
class Gpu {
 public:
  Gpu() : device(ashlar::cuda::device(0)) {
    ashlar::cuda::check("cudaStreamCreate", cudaStreamCreate(&stream));
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void* allocate(std::size_t bytes) {
    void* p = nullptr;
    ashlar::cuda::check("cudaMalloc", cudaMalloc(&p, bytes));
    return p;
  }
  void release(void* p) { cudaFree(p); }
  void to_device(void* to, const void* from, std::size_t bytes) {
    ashlar::cuda::check("cudaMemcpy", cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
  }
  void from_device(void* to, const void* from, std::size_t bytes) {
    ashlar::cuda::check("cudaMemcpy", cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
  }

  ashlar::cuda::Device device;
  cudaStream_t stream = nullptr;
};
/// Memory of a device.
class Memory {
 public:
  Memory(Gpu& on, std::size_t bytes) : gpu_(on), data_(on.allocate(bytes + 1)) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { gpu_.release(data_); }
  void* data() const { return data_; }

 private:
  Gpu& gpu_;
  void* data_;
};
inline Gpu& gpu() {
  static Gpu one;
  return one;
}

}  // namespace gpu_test

namespace emulation {

inline constexpr bool is_emulated = false;

/// The kernel on the device, as the emulated one would run it; nothing is counted.
template <class Kernel>
Counters launch(const typename Kernel::Arguments& arguments, Schedule = {}) {
  auto& gpu = gpu_test::gpu();
  ashlar::Context<ashlar::backend::CudaGpu> ctx(gpu.device, gpu.stream);
  gpu_test::run_mirrored(gpu, arguments, [&](const typename Kernel::Arguments& there) {
    ashlar::cuda::launch<Kernel>(ctx, "test", there);
    ctx.synchronize();
  });
  return {};
}

}  // namespace emulation
