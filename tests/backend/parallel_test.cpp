#include <gtest/gtest.h>

#include <ashlar/backend/parallel.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
#if defined(_OPENMP)
#  include <ashlar/openmp.hpp>
#endif

namespace {

using namespace ashlar;

/// A user's pool: threads that stay, woken up for each call.
class Pool {
 public:
  explicit Pool(int workers) {
    for (int w = 1; w < workers; ++w) threads_.emplace_back([this, w] { work(w); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  Executor executor() {
    return {[](void* self, int workers, Executor::Task task, void* argument) {
              static_cast<Pool*>(self)->run(workers, task, argument);
            },
            this, static_cast<int>(threads_.size()) + 1};
  }
  int calls = 0;

 private:
  void run(int workers, Executor::Task task, void* argument) {
    {
      const std::lock_guard lock(mutex_);
      ++calls;
      task_ = task;
      argument_ = argument;
      workers_ = workers;
      left_ = workers - 1;
      ++round_;
    }
    wake_.notify_all();
    task(argument, 0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
  }
  void work(int w) {
    for (int seen = 0;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
      if (w >= workers_) continue;
      const Executor::Task task = task_;
      void* argument = argument_;
      lock.unlock();
      task(argument, w);
      lock.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Executor::Task task_ = nullptr;
  void* argument_ = nullptr;
  int workers_ = 0, left_ = 0, round_ = 0;
  bool stop_ = false;
};

/// Every task runs once, by a worker of the executor, and all are done at the end.
void expect_each_once(const Executor& executor) {
  for (const index_t tasks : {0, 1, 2, 3, 4, 100, 1000}) {
    std::vector<int> runs(static_cast<std::size_t>(tasks));
    std::atomic<int> bad_workers{0};
    parallel_for(executor, tasks, [&](index_t i, int worker) {
      ++runs[static_cast<std::size_t>(i)];
      if (worker < 0 || worker >= executor.workers) ++bad_workers;
    });
    EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(tasks), 1));
    EXPECT_EQ(bad_workers, 0);
  }
}
/// No worker is two threads at once: memory of its own needs no lock.
void expect_workers_alone(const Executor& executor) {
  std::vector<std::atomic<int>> busy(static_cast<std::size_t>(executor.workers));
  std::atomic<int> clashes{0};
  parallel_for(executor, 2000, [&](index_t, int worker) {
    auto& mine = busy[static_cast<std::size_t>(worker)];
    if (mine.fetch_add(1) != 0) ++clashes;
    mine.fetch_sub(1);
  });
  EXPECT_EQ(clashes, 0);
}

TEST(Parallel, SerialRunsInOrderOnTheCallersThread) {
  std::vector<index_t> order;
  const auto caller = std::this_thread::get_id();
  parallel_for(Executor{}, 5, [&](index_t i, int worker) {
    EXPECT_EQ(worker, 0);
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<index_t>{0, 1, 2, 3, 4}));
}
TEST(Parallel, WorkersOneAfterTheOther) {
  Executor executor;
  executor.workers = 3;
  expect_each_once(executor);
}
TEST(Parallel, PoolOfTheCaller) {
  Pool pool(3);
  expect_each_once(pool.executor());
  expect_workers_alone(pool.executor());
  const int before = pool.calls;
  parallel_for(pool.executor(), 1, [](index_t, int) {});
  EXPECT_EQ(pool.calls, before) << "one task is not handed over";
}
#if defined(_OPENMP)
TEST(Parallel, OpenMp) {
  EXPECT_EQ(openmp_executor().workers, omp_get_max_threads());
  EXPECT_EQ(openmp_executor(3).workers, 3);
  expect_each_once(openmp_executor(3));
  expect_workers_alone(openmp_executor(3));
}
TEST(Parallel, OpenMpInsideOfARegion) {
  std::atomic<index_t> runs{0};
#  pragma omp parallel num_threads(2)
  {
    parallel_for(openmp_executor(3), 10, [&](index_t, int) { ++runs; });
  }
  EXPECT_EQ(runs, 20);
}
#else
TEST(Parallel, OpenMp) { GTEST_SKIP() << "built without OpenMP"; }
#endif

}  // namespace
