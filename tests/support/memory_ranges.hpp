// Which memory tests hand to kernels: those that run elsewhere copy it there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <new>

namespace support {

/// Pieces of the host's memory by their addresses.
class MemoryRanges {
 public:
  struct Range {
    std::byte* begin = nullptr;
    std::size_t size = 0;
  };

  static MemoryRanges& all() {
    static MemoryRanges* const ranges = new (std::malloc(sizeof(MemoryRanges))) MemoryRanges;
    return *ranges;  // never destroyed: memory is freed until the very end
  }
  void add(void* begin, std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (size > 0) ranges_[reinterpret_cast<std::uintptr_t>(begin)] = size;
  }
  void remove(void* begin) {
    const std::lock_guard lock(mutex_);
    ranges_.erase(reinterpret_cast<std::uintptr_t>(begin));
  }
  /// The piece that an address lies in, or nothing.
  Range find(std::uintptr_t address) {
    const std::lock_guard lock(mutex_);
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin()) return {};
    const auto& [begin, size] = *--next;
    if (address - begin >= size) return {};
    return {reinterpret_cast<std::byte*>(begin), size};
  }

 private:
  /// Not operator new: that may be what adds a range.
  template <class T>
  struct Malloc {
    using value_type = T;
    Malloc() = default;
    template <class U>
    Malloc(const Malloc<U>&) {}
    T* allocate(std::size_t n) {
      void* p = std::malloc(n * sizeof(T));
      if (p == nullptr) throw std::bad_alloc();
      return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t) { std::free(p); }
    bool operator==(const Malloc&) const { return true; }
  };
  std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t, std::less<>,
           Malloc<std::pair<const std::uintptr_t, std::size_t>>>
      ranges_;
};

}  // namespace support
