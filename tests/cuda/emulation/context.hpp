// A context whose device is the host: what ops launch runs on the emulated device, at once.
#pragma once

#include <ashlar/cuda/attention_launch.cuh>
#include <ashlar/cuda/launch.hpp>
#include <ashlar/cuda/product.hpp>
#include <cstdlib>
#include <cstring>

#include "launch.hpp"

namespace emulation {

/// Whether a program "was compiled for sm_90a": few tests are, for the time that it takes.
#if defined(ASHLAR_TEST_SM90A)
constexpr bool has_sm90a = true;
#else
constexpr bool has_sm90a = false;
#endif

/// Launches since it was set to 0, by any context.
inline int launches = 0;

/// A device of an architecture whose memory is the host's, filled with NaN at first.
inline ashlar::cuda::Device host_device(int architecture = 80) {
  ashlar::cuda::Device device{0, architecture, 227 * 1024, 132, [](CUstream_st*) {}};
  device.allocate = [](std::size_t bytes) {
    const std::size_t size = (bytes + 255) / 256 * 256;
    return std::memset(std::aligned_alloc(256, size), 0xff, size);
  };
  device.deallocate = [](void* p) { std::free(p); };
  device.copy = [](void* to, const void* from, std::size_t bytes, CUstream_st*) {
    std::memcpy(to, from, bytes);
  };
  return device;
}

}  // namespace emulation

namespace ashlar::inline ASHLAR_ABI::cuda {

template <class Kernel>
void launch(Context<backend::CudaGpu>&, std::string_view,
            const typename Kernel::Arguments& arguments) {
  ++emulation::launches;
  if constexpr (emulation::has_sm90a || !NeedsSm90a<Kernel>)
    emulation::launch<Kernel>(arguments);
  else
    throw emulation::Fault("this test was not compiled for sm_90a");
}

template <class Kernel>
bool is_compiled(const Device& device) {
  return emulation::has_sm90a && device.architecture == 90;
}

/// The contract in plain loops.
template <class T>
void multiply(Context<backend::CudaGpu>&, MatrixView<const T> x, MatrixView<const T> w,
              MatrixView<T> y) {
  for (index_t m = 0; m < y.extent(0); ++m)
    for (index_t n = 0; n < y.extent(1); ++n) {
      float sum = 0;
      for (index_t k = 0; k < x.extent(1); ++k)
        sum = std::fma(static_cast<float>(x(m, k)), static_cast<float>(w(n, k)), sum);
      y(m, n) = static_cast<T>(sum);
    }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
