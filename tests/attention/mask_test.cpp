// classify() of every mask against its keep(), asked pair by pair.
#include <gtest/gtest.h>

#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/attention/mask/combine.hpp>
#include <ashlar/attention/mask/local_window.hpp>
#include <ashlar/attention/mask/none.hpp>
#include <ashlar/attention/mask/sliding_window.hpp>

#include "support/random.hpp"

namespace ashlar {
namespace {

struct Counts {
  int skip = 0, full = 0, partial = 0, mixed = 0;
};

/// skip and full must be true; partial may be careful, but not always.
template <MaskPolicy Mask>
Counts check(const Mask& mask, support::Random& random) {
  Counts counts;
  for (int i = 0; i < 4000; ++i) {
    const index_t q0 = random.integer(-20, 150), q1 = q0 + random.integer(1, 40);
    const index_t k0 = random.integer(0, 150), k1 = k0 + random.integer(1, 70);
    index_t seen = 0;
    for (index_t q = q0; q < q1; ++q)
      for (index_t k = k0; k < k1; ++k) seen += mask.keep(0, 0, q, k) ? 1 : 0;
    const index_t all = (q1 - q0) * (k1 - k0);
    const TileKind kind = mask.classify(0, 0, q0, q1, k0, k1);
    counts.mixed += seen > 0 && seen < all;
    if (kind == TileKind::skip) {
      ++counts.skip;
      EXPECT_EQ(seen, 0) << q0 << ' ' << q1 << ' ' << k0 << ' ' << k1;
    } else if (kind == TileKind::full) {
      ++counts.full;
      EXPECT_EQ(seen, all) << q0 << ' ' << q1 << ' ' << k0 << ' ' << k1;
    } else {
      ++counts.partial;
    }
  }
  return counts;
}

template <MaskPolicy Mask>
void check_exact(const Mask& mask) {
  support::Random random(1);
  const Counts c = check(mask, random);
  EXPECT_EQ(c.partial, c.mixed) << "partial where skip or full is known";
}

TEST(MaskClassify, SimpleMasksAreExact) {
  check_exact(NoMask{});
  check_exact(CausalMask{});
  check_exact(SlidingWindow{});
  for (const index_t window : {1, 2, 5, 31, 64, 1000}) check_exact(SlidingWindow(window));
  check_exact(LocalWindow{});
  for (const index_t distance : {0, 1, 2, 5, 31, 64, 1000}) check_exact(LocalWindow(distance));
}

TEST(MaskClassify, CombinationsAreNeverWrong) {
  support::Random random(2);
  const CausalMask causal;
  for (const index_t w : {1, 7, 64}) {
    const SlidingWindow window(w);
    const Counts both = check(causal & window, random), either = check(causal | window, random),
                 none = check(NoMask{} & window, random), any = check(NoMask{} | window, random),
                 deep = check((causal & window) | (window & NoMask{}), random);
    EXPECT_GT(both.skip, 0);
    EXPECT_GT(either.full, 0);
    EXPECT_GT(none.skip, 0);
    EXPECT_EQ(any.full, 4000);
    EXPECT_GT(deep.skip, 0);
  }
}

// keep() by the words of the contract.
TEST(MaskKeep, Contract) {
  for (index_t q = -3; q < 12; ++q)
    for (index_t k = 0; k < 12; ++k) {
      EXPECT_EQ(CausalMask{}.keep(0, 0, q, k), k <= q);
      for (index_t w = 1; w <= 5; ++w)
        EXPECT_EQ(SlidingWindow(w).keep(0, 0, q, k), q - w + 1 <= k && k <= q);
      for (index_t d = 0; d <= 5; ++d)
        EXPECT_EQ(LocalWindow(d).keep(0, 0, q, k), (q < k ? k - q : q - k) <= d);
      EXPECT_TRUE(LocalWindow{}.keep(0, 0, q, k));
      EXPECT_EQ((CausalMask{} & SlidingWindow(3)).keep(0, 0, q, k), k <= q && k >= q - 2);
      EXPECT_EQ((SlidingWindow(2) | SlidingWindow(4)).keep(0, 0, q, k), k <= q && k >= q - 3);
    }
}

TEST(LocalWindow, RefusesANegativeDistance) {
  EXPECT_THROW(LocalWindow(-1), ValueError);
  EXPECT_EQ(LocalWindow(0).distance(), 0);
}

TEST(SlidingWindow, RefusesAnEmptyWindow) {
  EXPECT_THROW(SlidingWindow(0), ValueError);
  EXPECT_THROW(SlidingWindow(-1), ValueError);
  for (index_t w = 1; w <= 5; ++w)
    for (index_t p = 0; p < 8; ++p) {
      index_t seen = 0;
      for (index_t k = 0; k < 8; ++k) seen += SlidingWindow(w).keep(0, 0, p, k) ? 1 : 0;
      EXPECT_EQ(seen, min_index(w, p + 1));
    }
}

}  // namespace
}  // namespace ashlar
