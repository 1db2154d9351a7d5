// Counts allocations: replaces operator new of the program. Include it in one file of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace support {

inline std::atomic<long> allocations{0};

/// How often operator new runs while f does.
template <class F>
long count_allocations(F f) {
  const long before = allocations;
  f();
  return allocations - before;
}

inline void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* p = std::aligned_alloc(
      alignment, (bytes + alignment - 1) / alignment * alignment + (bytes == 0 ? alignment : 0));
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace support

// Not inlined: g++ would take the malloc inside of new for a mismatch of new and free.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return support::counted(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return support::counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
