// Stream: an owned stream of the device.
#pragma once

#include <ashlar/cuda/launch.cuh>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Work on it can be captured, as on any but the default stream. Throws CudaError.
class Stream {
 public:
  Stream() { check("cudaStreamCreate", cudaStreamCreate(&stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  CUstream_st* get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
