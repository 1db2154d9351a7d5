// Threads: an executor given by the caller, and parallel_for on top of it.
#pragma once

#include <ashlar/core/types.hpp>
#include <atomic>
#include <memory>

namespace ashlar::inline ASHLAR_ABI {

/// How work is spread over threads. `run` calls task(argument, worker) at most once for every
/// worker in [0, workers), at least for one of them, in any order, at the same time or not, and
/// returns when all that were begun are done: workers take what there is to do from a common
/// counter, so each call alone would do everything. The default runs on the caller's thread. `self`
/// is handed back to run: point it at your own pool, or take ThreadPool.
struct Executor {
  using Task = void (*)(void* argument, int worker);
  using Run = void (*)(void* self, int workers, Task task, void* argument);

  static void run_serial(void*, int, Task task, void* argument) { task(argument, 0); }

  Run run = &run_serial;
  void* self = nullptr;
  int workers = 1;
};

namespace detail {
/// parallel_for on a function of any type, f(&function, task, worker), so that it is compiled once.
inline void run_tasks(const Executor& executor, index_t tasks, const void* function,
                      void (*f)(const void* function, index_t task, int worker)) {
  const auto workers = static_cast<int>(min_index(executor.workers, tasks));
  if (workers <= 1) {
    for (index_t i = 0; i < tasks; ++i) f(function, i, 0);
    return;
  }
  struct Shared {
    const void* function;
    void (*f)(const void*, index_t, int);
    index_t tasks;
    std::atomic<index_t> next{0};
  } shared{function, f, tasks};
  executor.run(
      executor.self, workers,
      [](void* argument, int worker) {
        auto& s = *static_cast<Shared*>(argument);
        for (index_t i; (i = s.next.fetch_add(1, std::memory_order_relaxed)) < s.tasks;)
          s.f(s.function, i, worker);
      },
      &shared);
}
}  // namespace detail

/// Calls f(task, worker) for every task in [0, tasks); workers take tasks in ascending order as
/// they become free. Nothing may depend on which worker runs a task: results never depend on
/// threads.
template <class F>
void parallel_for(const Executor& executor, index_t tasks, const F& f) {
  detail::run_tasks(executor, tasks, std::addressof(f),
                    [](const void* function, index_t task, int worker) {
                      (*static_cast<const F*>(function))(task, worker);
                    });
}

}  // namespace ashlar::inline ASHLAR_ABI
