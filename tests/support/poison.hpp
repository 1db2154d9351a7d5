// Memory that shows what a kernel touches: a page without access behind the last element, NaN in
// gaps.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>

#include "memory_ranges.hpp"

namespace support {

/// `count` elements that end exactly at a page without access, so that a read or write past the end
/// stops the test. Filled with NaN (integers: all bits set).
template <class T>
class PoisonedBuffer {
 public:
  explicit PoisonedBuffer(std::ptrdiff_t count) : count_(static_cast<std::size_t>(count)) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t usable = (count_ * sizeof(T) + page - 1) / page * page;
    mapped_ = usable + page;
    void* base = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(base);
    if (mprotect(base_ + usable, page, PROT_NONE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(base_ + usable) - count;
    std::memset(static_cast<void*>(base_), 0xff, usable);  // NaN in every float format
    MemoryRanges::all().add(data_, count_ * sizeof(T));
  }
  PoisonedBuffer(const PoisonedBuffer&) = delete;
  PoisonedBuffer& operator=(const PoisonedBuffer&) = delete;
  ~PoisonedBuffer() {
    MemoryRanges::all().remove(data_);
    munmap(base_, mapped_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T& operator[](std::ptrdiff_t i) { return data_[i]; }
  const T& operator[](std::ptrdiff_t i) const { return data_[i]; }

 private:
  std::size_t count_, mapped_ = 0;
  std::byte* base_ = nullptr;
  T* data_ = nullptr;
};

/// A tensor with room between its rows: extents [..., n], row r of the last dimension starts every
/// n + gap elements (gap_outer more between the entries of the outermost dimension). All gaps hold
/// NaN.
template <class T, int Rank>
class PoisonedTensor {
 public:
  PoisonedTensor(const std::ptrdiff_t (&extents)[Rank], std::ptrdiff_t gap,
                 std::ptrdiff_t gap_outer = 0)
      : buffer_(lay_out(extents, gap, gap_outer)) {}

  /// Copies contiguous row-major values in.
  template <class U>
  void assign(std::span<const U> values) {
    std::ptrdiff_t i = 0;
    for (const U& x : values) buffer_[offset(i++)] = static_cast<T>(x);
  }
  /// The values without the gaps, row-major.
  template <class Vector>
  Vector values() const {
    Vector v(static_cast<std::size_t>(count_));
    for (std::ptrdiff_t i = 0; i < count_; ++i) v[static_cast<std::size_t>(i)] = buffer_[offset(i)];
    return v;
  }
  /// True while every gap still holds its poison: nothing was written outside.
  bool gaps_intact() const {
    PoisonedBuffer<std::uint8_t> touched(static_cast<std::ptrdiff_t>(buffer_.size()));
    for (std::ptrdiff_t i = 0; i < count_; ++i) touched[offset(i)] = 1;
    for (std::size_t i = 0; i < buffer_.size(); ++i) {
      std::array<std::uint8_t, sizeof(T)> bytes;
      std::memcpy(bytes.data(), buffer_.data() + i, sizeof(T));
      for (const std::uint8_t b : bytes)
        if (touched[static_cast<std::ptrdiff_t>(i)] != 1 && b != 0xff) return false;
    }
    return true;
  }

  T* data() { return buffer_.data(); }
  const std::ptrdiff_t (&extents() const)[Rank] { return extents_; }
  const std::ptrdiff_t (&strides() const)[Rank] { return strides_; }

 private:
  std::ptrdiff_t lay_out(const std::ptrdiff_t (&extents)[Rank], std::ptrdiff_t gap,
                         std::ptrdiff_t gap_outer) {
    count_ = 1;
    std::ptrdiff_t step = 1;
    for (int r = Rank - 1; r >= 0; --r) {
      extents_[r] = extents[r];
      strides_[r] = step;
      step *= extents[r];
      if (r == Rank - 1) step += gap;
      if (r == 1) step += gap_outer;
      count_ *= extents[r];
    }
    if (count_ == 0) return 0;
    return offset(count_ - 1) + 1;
  }
  std::ptrdiff_t offset(std::ptrdiff_t flat) const {
    std::ptrdiff_t at = 0;
    for (int r = Rank - 1; r >= 0; --r) {
      at += flat % extents_[r] * strides_[r];
      flat /= extents_[r];
    }
    return at;
  }

  std::ptrdiff_t extents_[Rank] = {}, strides_[Rank] = {}, count_ = 0;
  PoisonedBuffer<T> buffer_;
};

}  // namespace support
