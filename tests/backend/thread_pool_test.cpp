// ThreadPool: every task once, whatever the workers do.
#include <gtest/gtest.h>

#include <ashlar/backend/scalar.hpp>
#include <ashlar/backend/thread_pool.hpp>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace {

using namespace ashlar;

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int workers : {1, 2, 3, 7}) {
    ThreadPool pool(workers);
    for (index_t tasks = 0; tasks < 200; ++tasks) {
      std::vector<std::atomic<int>> count(static_cast<std::size_t>(tasks));
      parallel_for(pool.executor(), tasks, [&](index_t i, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, workers);
        ++count[static_cast<std::size_t>(i)];
      });
      for (const auto& c : count) ASSERT_EQ(c, 1);
    }
  }
}

TEST(ThreadPool, NoTwoTasksOfAWorkerAtOnce) {
  ThreadPool pool(3);
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int> busy[3] = {};
    std::atomic<bool> clash = false;
    parallel_for(pool.executor(), 16, [&](index_t, int worker) {
      if (++busy[worker] != 1) clash = true;
      --busy[worker];
    });
    ASSERT_FALSE(clash);
  }
}

TEST(ThreadPool, SleepsAndWakes) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<index_t> sum = 0;
    parallel_for(pool.executor(), 100, [&](index_t i, int) { sum += i; });
    EXPECT_EQ(sum, 4950);
  }
}

TEST(ThreadPool, SpreadsLongTasks) {
  ThreadPool pool(2);
  std::atomic<int> at_once = 0, most = 0;
  parallel_for(pool.executor(), 8, [&](index_t, int) {
    const int now = ++at_once;
    if (now > most) most = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    --at_once;
  });
  EXPECT_EQ(most, 2);
}

TEST(ThreadPool, WaitsForTheOthersWhenTheCallersShareThrows) {
  ThreadPool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> running = 0;
    EXPECT_THROW(parallel_for(pool.executor(), 1000,
                              [&](index_t, int worker) {
                                if (worker == 0) throw 1;
                                ++running;
                                std::this_thread::yield();
                                --running;
                              }),
                 int);
    ASSERT_EQ(running, 0);
    std::atomic<index_t> sum = 0;
    parallel_for(pool.executor(), 100, [&](index_t i, int) { sum += i; });
    ASSERT_EQ(sum, 4950);
  }
}

TEST(ThreadPool, RefusesNonsense) {
  EXPECT_THROW(ThreadPool(0), ValueError);
  EXPECT_THROW(ThreadPool(-1), ValueError);
  EXPECT_THROW(ThreadPool(1025), ValueError);
}

}  // namespace
