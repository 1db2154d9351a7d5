// One emulated block of threads: a fiber a thread, taken in turns on one host thread, in an order
// that a seed chooses.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fiber.hpp"
#include "schedule.hpp"
#include "shared_memory.hpp"

namespace emulation {

struct BlockIndex {
  int x = 0, y = 0, z = 0;
};

struct PendingCopy {
  std::uint32_t to;
  const void* from;  // null: zeros
  std::uint32_t bytes;
};
struct Thread {
  Fiber fiber;
  const char* waits_in = "";
  std::vector<PendingCopy> open;                 // copies since the last commit
  std::vector<std::vector<PendingCopy>> groups;  // committed, oldest first
  std::function<bool()> ready;                   // what the thread waits for, when it polls
};
struct Warp {
  std::uint32_t alive = ~0u, runnable = ~0u, arrived = 0, polling = 0;
  const char* operation = nullptr;
  void* arguments[32] = {};
  std::uint32_t epoch = 1;
  Clock clock{};
  bool at_barrier = false;
};
/// A barrier of some warps, by number.
struct NamedBarrier {
  int expected = 0, arrived = 0;  // threads
  std::uint32_t waiting = 0;      // warps
  Clock clock{};
};
/// What a device adds to a block.
struct Extension {
  Extension() = default;
  Extension(const Extension&) = delete;
  Extension& operator=(const Extension&) = delete;
  virtual ~Extension() = default;
  /// Empty, or what must not be so when a warp ends.
  virtual std::string left_by_warp(int) const { return ""; }
};

class Block {
 public:
  Block(int threads, std::size_t shared_bytes, Schedule s)
      : schedule(s),
        shared(shared_bytes),
        threads_(static_cast<std::size_t>(threads)),
        warps_(static_cast<std::size_t>(threads / 32)),
        stacks_(static_cast<std::size_t>(threads)),
        random_(s.seed * 0x9E3779B97F4A7C15u + 1) {
    if (threads % 32 != 0 || threads / 32 > most_warps) throw Fault("a block of odd size");
  }

  /// Runs `body` once for every thread.
  void run(BlockIndex i, const std::function<void()>& body) {
    index = i;
    body_ = &body;
    shared.reset();
    fault_.clear();
    for (NamedBarrier& b : barriers_) b = NamedBarrier{};
    engine_.clear();
    extension.reset();
    for (std::size_t w = 0; w < warps_.size(); ++w) {
      warps_[w] = Warp{};
      warps_[w].clock[w] = 1;
    }
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      threads_[t] = Thread{};
      threads_[t].fiber.start(stacks_.of(t), &Block::enter);
    }
    current_block = this;
    now_ = static_cast<int>(random() % warps_.size()) * 32;
    switch_fiber(host_, threads_[static_cast<std::size_t>(now_)].fiber);
    current_block = nullptr;
    if (!fault_.empty()) throw Fault(fault_);
  }

  static Block& current() { return *current_block; }
  int thread() const { return now_; }
  int warps() const { return static_cast<int>(warps_.size()); }
  int lane() const { return now_ % 32; }
  Warp& warp() { return warps_[static_cast<std::size_t>(now_ / 32)]; }
  Thread& self() { return threads_[static_cast<std::size_t>(now_)]; }
  Accessor accessor() { return accessor(lane()); }
  Accessor accessor(int of_lane) { return {now_ / 32, of_lane, warp().epoch, warp().clock}; }

  [[noreturn]] void fail(const std::string& what) {
    fault_ = what + " [block " + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
             std::to_string(index.z) + " warp " + std::to_string(now_ / 32) + " lane " +
             std::to_string(lane()) + "]";
    Fiber lost;
    switch_fiber(lost, host_);
    __builtin_unreachable();
  }
  void check(const std::string& wrong, const char* instruction) {
    if (!wrong.empty()) fail(std::string(instruction) + ": " + wrong);
  }

  /// An instruction of a whole warp: the last lane to arrive executes it for all, with the
  /// arguments of each.
  template <class Execute>
  void collective(const char* name, void* argument, Execute execute) {
    Warp& w = warp();
    if (w.arrived == 0) w.operation = name;
    if (w.operation != name)
      fail(std::string("lanes of a warp diverge: ") + name + " meets " + w.operation);
    w.arguments[lane()] = argument;
    w.arrived |= 1u << lane();
    if (w.arrived != w.alive) return wait(name);
    if (w.alive != ~0u) fail(std::string("some lanes have left before ") + name);
    w.arrived = 0;
    execute(w);
    if (w.at_barrier) return wait(name);
    w.runnable = w.alive;
    if (random() % 16 == 0) change_warp();
  }
  /// __syncwarp.
  void sync_warp() {
    collective("syncwarp", nullptr, [](Warp& w) { ++w.epoch; });
  }
  /// __syncthreads.
  void sync_block() { barrier("bar.sync", 0, static_cast<int>(threads_.size()), true); }
  /// bar.sync, or bar.arrive unless it `waits`: barrier `id` of so many threads.
  void barrier(const char* name, int id, int threads, bool waits) {
    struct Argument {
      int id, threads;
    } argument{id, threads};
    collective(name, &argument, [this, name, id, threads, waits](Warp& w) {
      for (void* a : w.arguments)
        if (const auto& x = *static_cast<Argument*>(a); x.id != id || x.threads != threads)
          fail(std::string(name) + ": lanes disagree");
      ++counters.barriers;
      const auto here = static_cast<std::size_t>(now_ / 32);
      NamedBarrier& b = barriers_.at(static_cast<std::size_t>(id));
      if (b.arrived > 0 && b.expected != threads)
        fail(std::string(name) + ": a barrier of " + std::to_string(b.expected) + " threads and " +
             std::to_string(threads));
      b.expected = threads;
      b.arrived += 32;
      join(b.clock, w.clock);
      ++w.clock[here];
      if (waits) {
        b.waiting |= 1u << here;
        w.at_barrier = true;
      }
      if (b.arrived < b.expected) return;
      for (std::size_t i = 0; i < warps_.size(); ++i) {
        if (!(b.waiting >> i & 1u)) continue;
        Warp& x = warps_[i];
        join(x.clock, b.clock);
        ++x.clock[i];
        ++x.epoch;
        x.at_barrier = false;
        x.runnable = x.alive;
      }
      b = NamedBarrier{};
    });
  }
  /// Waits until ready() is true.
  template <class Ready>
  void wait_until(const char* where, Ready ready) {
    if (ready()) return;
    self().ready = ready;
    warp().polling |= 1u << lane();
    wait(where);
  }
  /// A copy of an engine: lands at once, or when no thread can go on.
  void give_to_engine(std::function<void()> copy) {
    if (schedule.copies == Copies::eager)
      copy();
    else
      engine_.push_back(std::move(copy));
  }

  Schedule schedule;
  SharedMemory shared;
  BlockIndex index, grid;  // grid: blocks of the launch, where a kernel asks for them
  Counters counters;
  std::shared_ptr<Extension> extension;

 private:
  static void enter() {
    Block& b = current();
    fiber_begins(b.host_);
    (*b.body_)();
    b.leave();
  }
  [[noreturn]] void leave() {
    for (const auto& group : self().groups)
      if (!group.empty()) fail("a thread ends with asynchronous copies under way");
    if (!self().open.empty()) fail("a thread ends with asynchronous copies under way");
    Warp& w = warp();
    w.alive &= ~(1u << lane());
    w.runnable &= ~(1u << lane());
    if (w.arrived != 0 && w.arrived == w.alive)
      fail("some lanes have left before " + std::string(w.operation));
    if (w.alive == 0 && extension)
      if (const std::string left = extension->left_by_warp(now_ / 32); !left.empty()) fail(left);
    bool all = true;
    for (const Warp& x : warps_) all = all && x.alive == 0;
    if (all && !engine_.empty()) fail("a block ends with copies of an engine under way");
    const int next = find_runnable();
    if (next >= 0) go(next);
    if (!all) fail(deadlock());
    Fiber done;
    switch_fiber(done, host_);
    __builtin_unreachable();
  }
  std::uint64_t random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_;
  }
  void go(int t) {
    if (t == now_) return;
    Fiber& from = self().fiber;
    now_ = t;
    switch_fiber(from, self().fiber);
  }
  int first_of(std::size_t w) const {
    return static_cast<int>(w) * 32 + __builtin_ctz(warps_[w].runnable);
  }
  /// The next lane of this warp, else a lane of another one; when all wait, after a copy of an
  /// engine has landed. -1 when there is none of that.
  int find_runnable() {
    const auto here = static_cast<std::size_t>(now_ / 32);
    for (;;) {
      poll(here);
      const std::uint32_t later = warps_[here].runnable & (~0u << lane());
      if (later) return static_cast<int>(here) * 32 + __builtin_ctz(later);
      for (std::size_t i = 0; i < warps_.size(); ++i) {
        const std::size_t w = (here + i) % warps_.size();
        poll(w);
        if (warps_[w].runnable) return first_of(w);
      }
      if (engine_.empty()) return -1;
      const auto which = static_cast<std::ptrdiff_t>(random() % engine_.size());
      const std::function<void()> copy = std::move(engine_[static_cast<std::size_t>(which)]);
      engine_.erase(engine_.begin() + which);
      copy();
    }
  }
  /// Lets lanes of a warp go on that wait for what has become true.
  void poll(std::size_t w) {
    Warp& x = warps_[w];
    for (std::uint32_t rest = x.polling; rest; rest &= rest - 1) {
      const auto l = static_cast<std::size_t>(__builtin_ctz(rest));
      if (!threads_[w * 32 + l].ready()) continue;
      x.polling &= ~(1u << l);
      x.runnable |= 1u << l;
    }
  }
  void change_warp() {
    const auto w = static_cast<std::size_t>(random() % warps_.size());
    if (warps_[w].runnable) go(first_of(w));
  }
  void wait(const char* where) {
    self().waits_in = where;
    warp().runnable &= ~(1u << lane());
    const int next = find_runnable();
    if (next < 0) fail(deadlock());
    go(next);
  }
  std::string deadlock() {
    std::string text = "deadlock:";
    for (std::size_t w = 0; w < warps_.size(); ++w)
      if (warps_[w].alive)
        text +=
            " warp " + std::to_string(w) + " waits in " +
            threads_[w * 32 + static_cast<std::size_t>(__builtin_ctz(warps_[w].alive))].waits_in;
    return text;
  }

  static inline thread_local Block* current_block = nullptr;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  Stacks stacks_;
  std::uint64_t random_;
  const std::function<void()>* body_ = nullptr;
  Fiber host_;
  std::string fault_;
  int now_ = 0;
  std::array<NamedBarrier, 16> barriers_;
  std::vector<std::function<void()>> engine_;
};

}  // namespace emulation
