// ThreadPool: threads of our own, for programs that bring none.
#pragma once

#include <ashlar/backend/parallel.hpp>
#include <ashlar/core/error.hpp>
#include <deque>
#include <thread>

namespace ashlar::inline ASHLAR_ABI {

/// workers - 1 threads beside the caller's. A thread that is late is not waited for: the caller
/// does its share, so that a busy machine slows a call down but never stalls it at a barrier. Idle
/// threads spin for some microseconds, then sleep. One caller at a time; the pool must outlive the
/// contexts that use it.
class ThreadPool {
 public:
  /// Throws ValueError unless 1 <= workers <= 1024.
  explicit ThreadPool(int workers) {
    if (workers < 1 || workers > 1024)
      fail<ValueError>("ThreadPool: workers is ", workers, ", expected 1 to 1024");
    for (int w = 1; w < workers; ++w) seats_.emplace_back();
    for (Seat& seat : seats_) seat.thread = std::thread([&seat] { work(seat); });
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  Executor executor() { return {&run, this, static_cast<int>(seats_.size()) + 1}; }

 private:
  // A seat goes idle -> offered -> running -> idle, or is taken back from offered.
  static constexpr int idle = 0, offered = 1, running = 2, stop = 3;
  static constexpr int spins = 2000;

  struct alignas(64) Seat {
    std::atomic<int> state{idle};
    Executor::Task task = nullptr;
    void* argument = nullptr;
    int worker = 0;
    std::thread thread;

    void set(int value) {
      state.store(value, std::memory_order_release);
      state.notify_one();
    }
    /// Returns when the state is no longer `value`, with what it is now.
    int wait_while(int value) {
      for (int i = 0; i < spins; ++i)
        if (const int now = state.load(std::memory_order_acquire); now != value) return now;
      state.wait(value, std::memory_order_acquire);
      return state.load(std::memory_order_acquire);
    }
  };

  static void work(Seat& seat) {
    while (true) {
      int now = seat.wait_while(idle);
      if (now == stop) return;
      if (now != offered ||
          !seat.state.compare_exchange_strong(now, running, std::memory_order_acq_rel))
        continue;  // taken back
      seat.task(seat.argument, seat.worker);
      seat.set(idle);
    }
  }

  static void run(void* self, int workers, Executor::Task task, void* argument) {
    auto& seats = static_cast<ThreadPool*>(self)->seats_;
    const auto helpers = static_cast<std::size_t>(workers - 1);
    for (std::size_t i = 0; i < helpers; ++i) {
      seats[i].task = task;
      seats[i].argument = argument;
      seats[i].worker = static_cast<int>(i) + 1;
      seats[i].set(offered);
    }
    struct Wait {  // also when the caller's share throws
      std::deque<Seat>& seats;
      std::size_t helpers;
      ~Wait() {
        for (std::size_t i = 0; i < helpers; ++i) {
          int expected = offered;
          if (!seats[i].state.compare_exchange_strong(expected, idle, std::memory_order_acq_rel))
            while (seats[i].wait_while(running) == running) {
            }
        }
      }
    } wait{seats, helpers};
    task(argument, 0);
  }

  /// Joins its threads, also when one of them cannot be started.
  struct Seats : std::deque<Seat> {
    ~Seats() {
      for (Seat& seat : *this) seat.set(stop);
      for (Seat& seat : *this)
        if (seat.thread.joinable()) seat.thread.join();
    }
  };
  Seats seats_;
};

}  // namespace ashlar::inline ASHLAR_ABI
