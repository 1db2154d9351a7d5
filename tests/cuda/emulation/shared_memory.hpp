// Shared memory of an emulated block that knows who wrote and read what, in which order, and finds
// accesses without one.
//
// Source: vector clocks, Flanagan and Freund 2009 (FastTrack): one clock a warp, joined at
// barriers, and an epoch a warp that __syncwarp begins anew, for the order between lanes of one
// warp.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace emulation {

inline constexpr int most_warps = 16, most_engines = 24;
/// A count for every warp, and for what each barrier in shared memory lets copy engines do.
using Clock = std::array<std::uint32_t, most_warps + most_engines>;

inline void join(Clock& a, const Clock& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] > b[i] ? a[i] : b[i];
}

/// Who accesses: a lane of a warp, with what its warp knows of the others.
struct Accessor {
  int warp, lane;
  std::uint32_t epoch;
  const Clock& clock;
};
/// By which way: as threads do, or as products of warpgroups and copy engines do, which do not see
/// what a thread has written before a fence of that thread.
enum class Proxy { generic, async };

class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : store_(bytes + 1024), bytes_(bytes) {
    const auto base = reinterpret_cast<std::uintptr_t>(store_.data());
    data_ = store_.data() + (1024 - base % 1024) % 1024;
  }

  /// Fills the memory with NaN and forgets all accesses: a new block.
  void reset() {
    std::memset(data_, 0xff, bytes_);
    history_.assign(bytes_ / 4 + 1, Granule{});
    fences_.fill(1);
  }
  /// fence.proxy.async of a thread.
  void publish(int warp, int lane) { ++fence_count(warp, lane); }
  unsigned char* at(std::uint32_t address) { return data_ + address; }

  /// Empty, or what is wrong with a read of `count` bytes.
  std::string check_read(std::uint32_t address, std::uint32_t count, const Accessor& by,
                         Proxy proxy = Proxy::generic) {
    if (const std::string wrong = check_place(address, count); !wrong.empty()) return wrong;
    for (std::uint32_t i = address / 4; i < (address + count + 3) / 4; ++i) {
      Granule& g = history_[i];
      if (g.pending) return "read of shared memory whose asynchronous copy is under way";
      if (!g.write_is_before(by)) return "race: read after a write that nothing orders";
      if (proxy == Proxy::async && is_unpublished(g)) return unpublished;
      g.read_clock[static_cast<std::size_t>(by.warp)] = by.clock[static_cast<std::size_t>(by.warp)];
      if (g.read_warp != by.warp || g.read_epoch != by.epoch) g.read_lanes = 0;
      g.read_warp = static_cast<std::int8_t>(by.warp);
      g.read_epoch = by.epoch;
      g.read_lanes |= 1u << by.lane;
    }
    return "";
  }
  /// Empty, or what is wrong with a write. A copy that begins is a write that stays pending until
  /// it lands.
  std::string check_write(std::uint32_t address, std::uint32_t count, const Accessor& by,
                          bool pending = false) {
    if (const std::string wrong = check_place(address, count); !wrong.empty()) return wrong;
    for (std::uint32_t i = address / 4; i < (address + count + 3) / 4; ++i) {
      Granule& g = history_[i];
      if (g.pending) return "write to shared memory whose asynchronous copy is under way";
      if (!g.write_is_before(by)) return "race: write after a write that nothing orders";
      if (!g.reads_are_before(by)) return "race: write after a read that nothing orders";
      g.written(by);
      g.fences = fence_count(by.warp, by.lane);
      g.pending = pending;
    }
    return "";
  }
  /// Empty, or what is wrong with a copy that a thread gives to an engine; the engine's write is
  /// its event number `event`.
  std::string check_engine_write(std::uint32_t address, std::uint32_t count, const Accessor& by,
                                 int engine, std::uint32_t event) {
    if (const std::string wrong = check_place(address, count); !wrong.empty()) return wrong;
    for (std::uint32_t i = address / 4; i < (address + count) / 4; ++i) {
      Granule& g = history_[i];
      if (g.pending) return "write to shared memory whose asynchronous copy is under way";
      if (!g.write_is_before(by)) return "race: write after a write that nothing orders";
      if (!g.reads_are_before(by)) return "race: write after a read that nothing orders";
      if (is_unpublished(g)) return unpublished;
      g.write_clock = event;
      g.write_warp = static_cast<std::int8_t>(most_warps + engine);
      g.fences = 0;
      g.pending = true;
    }
    return "";
  }
  /// A copy of an engine is there.
  void land(std::uint32_t address, std::uint32_t count) {
    for (std::uint32_t i = address / 4; i < (address + count) / 4; ++i) history_[i].pending = false;
  }
  /// A copy is there, for the thread that waited for it.
  void land(std::uint32_t address, std::uint32_t count, const Accessor& by) {
    for (std::uint32_t i = address / 4; i < (address + count) / 4; ++i) {
      history_[i].pending = false;
      history_[i].written(by);
    }
  }

 private:
  struct Granule {  // four bytes
    std::uint32_t write_clock = 0, write_epoch = 0, read_epoch = 0, read_lanes = 0;
    std::uint32_t fences = 0;  // of the thread that wrote, when it did; 0 of an engine
    std::int8_t write_warp = 0, write_lane = 0, read_warp = -1;
    bool pending = false;
    std::array<std::uint32_t, most_warps> read_clock{};

    bool write_is_before(const Accessor& by) const {
      if (write_clock > by.clock[static_cast<std::size_t>(write_warp)]) return false;
      return write_clock == 0 || write_warp != by.warp || write_lane == by.lane ||
             write_epoch != by.epoch;
    }
    bool reads_are_before(const Accessor& by) const {
      for (std::size_t w = 0; w < read_clock.size(); ++w)
        if (read_clock[w] > by.clock[w]) return false;
      return read_warp != by.warp || read_epoch != by.epoch || (read_lanes & ~(1u << by.lane)) == 0;
    }
    void written(const Accessor& by) {
      write_clock = by.clock[static_cast<std::size_t>(by.warp)];
      write_epoch = by.epoch;
      write_warp = static_cast<std::int8_t>(by.warp);
      write_lane = static_cast<std::int8_t>(by.lane);
    }
  };

  static constexpr const char* unpublished =
      "what a thread wrote is not published: no fence.proxy.async";
  std::uint32_t& fence_count(int warp, int lane) {
    return fences_[static_cast<std::size_t>(warp * 32 + lane)];
  }
  bool is_unpublished(const Granule& g) {
    return g.fences != 0 && g.fences == fence_count(g.write_warp, g.write_lane);
  }
  std::string check_place(std::uint32_t address, std::uint32_t count) const {
    if (address % (count < 16 ? count : 16) != 0)
      return "misaligned access of " + std::to_string(count) + " bytes at shared address " +
             std::to_string(address);
    if (std::size_t{address} + count > bytes_)
      return "access at shared address " + std::to_string(address) + " of " +
             std::to_string(bytes_) + " bytes";
    return "";
  }

  std::vector<unsigned char> store_;
  unsigned char* data_;
  std::size_t bytes_;
  std::vector<Granule> history_;
  std::array<std::uint32_t, most_warps * 32> fences_{};  // of each thread, from 1
};

}  // namespace emulation
