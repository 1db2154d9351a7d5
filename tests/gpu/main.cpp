// What a program of device tests consists of beside its tests: a heap that knows its pieces, which
// the tests' vectors lie in, and the order of the day.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "support/memory_ranges.hpp"

void* operator new(std::size_t size) {
  void* p = std::malloc(size > 0 ? size : 1);
  if (p == nullptr) throw std::bad_alloc();
  support::MemoryRanges::all().add(p, size);
  return p;
}
void operator delete(void* p) noexcept {
  if (p != nullptr) support::MemoryRanges::all().remove(p);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
// The other forms of new and delete call these.

/// Usage: PROGRAM [PART_OF_A_NAME]
int main(int argc, char** argv) { return testing::run_all(argc > 1 ? argv[1] : nullptr); }
