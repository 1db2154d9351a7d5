// Launches of kernels whose arguments point to the host's memory, on a device that has its own:
// what they point to is copied there, the pointers are replaced, and the results come back.
#pragma once

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/emulation/schedule.hpp"
#include "support/memory_ranges.hpp"

namespace gpu_test {

/// Copies, on a device, of the pieces of memory (support::MemoryRanges) that an object points to.
/// Each stands between guards of NaN. An object is taken as its words of 64 bits; those that are
/// addresses inside of a piece become addresses inside of its copy.
template <class Gpu>
class Mirror {
 public:
  /// With an `exact` end of every copy, so that a memory checker sees what reads past it.
  explicit Mirror(Gpu& gpu) : gpu_(gpu), behind_(std::getenv("ASHLAR_GPU_EXACT") ? 0 : guard) {}
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror() {
    for (auto& [begin, copy] : copies_) gpu_.release(copy.block);
  }

  /// The object with the device's addresses.
  template <class Object>
  Object moved(const Object& object) {
    static_assert(std::is_trivially_copyable_v<Object> && alignof(Object) >= 8);
    Object result = object;
    std::uintptr_t words[sizeof(Object) / 8];
    std::memcpy(words, &object, sizeof(Object));
    for (std::uintptr_t& word : words) word = moved_address(word);
    std::memcpy(static_cast<void*>(&result), words, sizeof(Object));
    return result;
  }
  /// Makes the copies what the host's memory is, with fresh guards.
  void send() {
    for (auto& [begin, copy] : copies_) {
      std::vector<std::byte> block(copy.block_size(behind_), std::byte{0xff});
      std::memcpy(block.data() + copy.ahead, copy.host, copy.size);
      gpu_.to_device(copy.block, block.data(), block.size());
    }
  }
  /// What is in the copies now, in the order of the host's addresses. Throws Fault when a guard was
  /// written.
  std::vector<std::vector<std::byte>> fetch() {
    std::vector<std::vector<std::byte>> all;
    for (auto& [begin, copy] : copies_) {
      std::vector<std::byte> block(copy.block_size(behind_));
      gpu_.from_device(block.data(), copy.block, block.size());
      for (std::size_t i = 0; i < block.size(); ++i)
        if ((i < copy.ahead || i >= copy.ahead + copy.size) && block[i] != std::byte{0xff})
          throw emulation::Fault(
              "written outside: " +
              (i < copy.ahead ? std::to_string(copy.ahead - i) + " bytes ahead of"
                              : std::to_string(i - copy.ahead - copy.size) + " bytes behind") +
              " a buffer of " + std::to_string(copy.size) + " bytes");
      all.emplace_back(block.begin() + static_cast<std::ptrdiff_t>(copy.ahead),
                       block.begin() + static_cast<std::ptrdiff_t>(copy.ahead + copy.size));
    }
    return all;
  }
  /// Puts what fetch() gave into the host's memory.
  void keep(const std::vector<std::vector<std::byte>>& all) {
    std::size_t i = 0;
    for (auto& [begin, copy] : copies_) {
      std::memcpy(copy.host, all[i].data(), copy.size);
      ++i;
    }
  }

 private:
  static constexpr std::size_t guard = 256;  // what allocations are aligned to, at least
  struct Copy {
    std::byte* host;
    std::size_t size, ahead;  // bytes, and of the guard: the copy is aligned as the piece is
    void* block;

    std::size_t block_size(std::size_t behind) const { return ahead + size + behind; }
  };

  std::uintptr_t moved_address(std::uintptr_t address) {
    const auto range = support::MemoryRanges::all().find(address);
    if (range.size == 0) return address;
    const auto begin = reinterpret_cast<std::uintptr_t>(range.begin);
    auto at = copies_.find(begin);
    if (at == copies_.end()) {
      Copy copy{range.begin, range.size, guard + begin % guard, nullptr};
      copy.block = gpu_.allocate(copy.block_size(behind_));
      at = copies_.emplace(begin, copy).first;
    }
    return reinterpret_cast<std::uintptr_t>(at->second.block) + at->second.ahead +
           (address - begin);
  }

  Gpu& gpu_;
  std::size_t behind_;
  std::map<std::uintptr_t, Copy> copies_;
};

/// Calls run(object with the device's addresses) twice from the same memory, and puts what it left
/// into the host's. Throws Fault when the two left different bits.
template <class Gpu, class Object, class Run>
void run_mirrored(Gpu& gpu, const Object& object, Run run) {
  Mirror<Gpu> mirror(gpu);
  const Object there = mirror.moved(object);
  mirror.send();
  run(there);
  const auto first = mirror.fetch();
  mirror.send();
  run(there);
  if (mirror.fetch() != first) throw emulation::Fault("two runs gave different bits: they differ");
  mirror.keep(first);
}

}  // namespace gpu_test
