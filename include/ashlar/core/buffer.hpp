// Buffer: owning, move-only, 64-byte aligned memory of the host.
#pragma once

#include <ashlar/core/error.hpp>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace ashlar::inline ASHLAR_ABI {

namespace detail {
inline constexpr std::size_t alignment = 64;  // a cache line, and the widest vector

/// Null where there is no memory.
inline void* try_allocate_aligned(std::size_t bytes) noexcept {
  return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
}
inline void* allocate_aligned(std::size_t bytes) {
#if ASHLAR_EXCEPTIONS
  return ::operator new (bytes, std::align_val_t{alignment});
#else
  void* p = try_allocate_aligned(bytes);
  if (!p) fail("out of memory: ", bytes, " bytes");
  return p;
#endif
}
inline void deallocate_aligned(void* p) { ::operator delete (p, std::align_val_t{alignment}); }
}  // namespace detail

/// n elements of trivially copyable T, zero at first. Throws ValueError for a size below 0 or above
/// what memory can address.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(index_t size) : size_(size) {
    if (size < 0 || size > (std::numeric_limits<index_t>::max)() / static_cast<index_t>(sizeof(T)))
      fail<ValueError>("Buffer: size is ", size);
    if (size == 0) return;
    data_ = static_cast<T*>(detail::allocate_aligned(bytes()));
    std::memset(static_cast<void*>(data_), 0, bytes());
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() {
    if (data_) detail::deallocate_aligned(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  index_t size() const { return size_; }
  T& operator[](index_t i) { return data_[i]; }
  const T& operator[](index_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  T* data_ = nullptr;
  index_t size_ = 0;
};

}  // namespace ashlar::inline ASHLAR_ABI
