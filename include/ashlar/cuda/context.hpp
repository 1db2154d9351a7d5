// The backend CudaGpu and its context: a stream and a workspace of the caller's.
#pragma once

#include <ashlar/backend/backend.hpp>
#include <ashlar/cuda/device.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace backend {
struct CudaGpu {
  using fallback = None;  // no kernel of a host runs on a device's memory
  static constexpr std::string_view name = "cuda";
  static constexpr MemorySpace space = MemorySpace::device;
};
}  // namespace backend

/// A stream and a workspace of the caller's, both outliving the context. Ops enqueue on the stream
/// and return: nothing allocates memory or waits. They take temporary memory from the workspace and
/// give it back when they return, as the next op on the stream runs after them.
template <>
class Context<backend::CudaGpu> {
 public:
  Context(const cuda::Device& device, CUstream_st* stream, void* workspace = nullptr,
          std::size_t workspace_bytes = 0)
      : device_(device),
        stream_(stream),
        workspace_(static_cast<char*>(workspace)),
        bytes_(workspace_bytes) {
    if (reinterpret_cast<std::uintptr_t>(workspace) % alignment != 0)
      fail<ValueError>("Context: the workspace does not begin at a multiple of ", alignment);
  }

  const cuda::Device& device() const { return device_; }
  CUstream_st* stream() const { return stream_; }

  /// A piece of the workspace. Throws ValueError when the rest is too small.
  void* allocate(std::size_t bytes) {
    const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
    if (size > bytes_ - used_)
      fail<ValueError>("Context: a workspace of at least ", used_ + size, " bytes is needed, got ",
                       bytes_);
    void* p = workspace_ + used_;
    used_ += size;
    peak_ = used_ > peak_ ? used_ : peak_;
    return p;
  }
  /// Gives the piece back that was taken last.
  void deallocate(void* p, std::size_t) {
    used_ = static_cast<std::size_t>(static_cast<char*>(p) - workspace_);
  }
  /// Most bytes of the workspace that were in use at once.
  std::size_t peak_bytes() const { return peak_; }
  /// Waits until everything on the stream is done. Throws cuda::CudaError.
  void synchronize() {
    if (device_.synchronize == nullptr)
      fail<ValueError>("Context: the device has no function that waits; take it from cuda::device");
    device_.synchronize(stream_);
  }

 private:
  static constexpr std::size_t alignment = 256;
  cuda::Device device_;
  CUstream_st* stream_;
  char* workspace_;
  std::size_t bytes_, used_ = 0, peak_ = 0;
};
static_assert(Backend<backend::CudaGpu>);

}  // namespace ashlar::inline ASHLAR_ABI
