// DeviceBuffer: owning, move-only memory of a device.
#pragma once

#include <ashlar/core/view.hpp>
#include <ashlar/cuda/device.hpp>
#include <span>
#include <utility>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// n uninitialised elements of trivially copyable T. Throws ValueError for a size below 0 or a
/// device without functions, CudaError when there is no memory.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceBuffer() = default;
  DeviceBuffer(const Device& device, index_t size) : size_(size) {
    if (size < 0 || size > (index_t{1} << 60) / static_cast<index_t>(sizeof(T)))
      fail<ValueError>("DeviceBuffer: size is ", size);
    release_ = device.with_functions().deallocate;
    copy_ = device.copy;
    if (size > 0)
      data_ = static_cast<T*>(device.allocate(static_cast<std::size_t>(size) * sizeof(T)));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_) release_(data_);
  }

  T* data() const { return data_; }
  index_t size() const { return size_; }

  /// Enqueues a copy of host memory into elements first, first + 1, ..; the memory may be used
  /// again once the stream has passed it (at once for memory that is not pinned).
  void upload(std::span<const T> from, CUstream_st* stream, index_t first = 0) {
    check(static_cast<index_t>(from.size()), first);
    if (!from.empty()) copy_(data_ + first, from.data(), from.size_bytes(), stream);
  }
  /// Enqueues a copy of elements first, first + 1, .. into host memory: wait for the stream.
  void download(std::span<T> to, CUstream_st* stream, index_t first = 0) const {
    check(static_cast<index_t>(to.size()), first);
    if (!to.empty()) copy_(to.data(), data_ + first, to.size_bytes(), stream);
  }

 private:
  void check(index_t count, index_t first) const {
    if (first < 0 || count > size_ - first)
      fail<ValueError>("DeviceBuffer: elements ", first, " to ", first + count, " of ", size_);
  }
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(release_, other.release_);
    std::swap(copy_, other.copy_);
  }

  T* data_ = nullptr;
  index_t size_ = 0;
  decltype(Device::deallocate) release_ = nullptr;
  decltype(Device::copy) copy_ = nullptr;
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
