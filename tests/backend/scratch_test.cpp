#include <gtest/gtest.h>

#include <ashlar/backend/scratch.hpp>
#include <cstdint>

#include "support/allocations.hpp"

namespace {

using namespace ashlar;

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; }

TEST(Scratch, PiecesAreAlignedAndApart) {
  Scratch scratch;
  Scratch::Frame frame(scratch);
  char* a = frame.get<char>(1);
  double* b = frame.get<double>(3);
  float* none = frame.get<float>(0);
  EXPECT_TRUE(aligned(a) && aligned(b) && aligned(none));
  EXPECT_EQ(reinterpret_cast<char*>(b) - a, 64);
  EXPECT_NE(static_cast<void*>(none), static_cast<void*>(b));
}
TEST(Scratch, TensorsAreContiguous) {
  Scratch scratch;
  Scratch::Frame frame(scratch);
  const auto t = frame.tensor<float>({2, 3, 5});
  EXPECT_EQ(t.size(), 30);
  EXPECT_TRUE(t.contiguous());
  t(1, 2, 4) = 7;
  EXPECT_EQ(t.data()[29], 7);
}
TEST(Scratch, AnEndedFrameGivesItsMemoryBack) {
  Scratch scratch;
  Scratch::Frame outer(scratch);
  outer.get<char>(100);
  void* first;
  {
    Scratch::Frame inner(scratch);
    first = inner.get<char>(1000);
  }
  Scratch::Frame again(scratch);
  EXPECT_EQ(again.get<char>(10), first);
}
TEST(Scratch, GrowthLeavesWhatWasTakenInPlace) {
  Scratch scratch;
  Scratch::Frame outer(scratch);
  auto* kept = outer.get<std::int32_t>(1000);
  for (int i = 0; i < 1000; ++i) kept[i] = i;
  for (const index_t bytes : {100000, 1000000, 10}) {
    Scratch::Frame inner(scratch);
    char* p = inner.get<char>(bytes);
    for (index_t i = 0; i < bytes; ++i) p[i] = 1;
  }
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(kept[i], i);
}
TEST(Scratch, SteadyStateDoesNotAllocate) {
  Scratch scratch;
  const auto call = [&](index_t n) {
    Scratch::Frame outer(scratch);
    outer.get<float>(n);
    for (int i = 0; i < 3; ++i) {
      Scratch::Frame inner(scratch);
      inner.get<float>(n);
      inner.get<float>(n / 2);
    }
  };
  EXPECT_GT(support::count_allocations([&] { call(100000); }), 0);
  EXPECT_EQ(support::count_allocations([&] {
              for (int i = 0; i < 10; ++i) call(100000);
              call(50);
            }),
            0);
}
TEST(Scratch, PeakCountsWhatWasInUseAtOnce) {
  Scratch scratch;
  {
    Scratch::Frame outer(scratch);
    outer.get<char>(64);
    for (int i = 0; i < 2; ++i) Scratch::Frame(scratch).get<char>(100);
  }
  EXPECT_EQ(scratch.peak_bytes(), 64u + 128u);
  scratch.reset_peak();
  EXPECT_EQ(scratch.peak_bytes(), 0u);
}

}  // namespace
