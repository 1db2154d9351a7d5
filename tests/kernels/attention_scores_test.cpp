// Masks and scores on vectors of positions against the same functors asked one pair at a time.
#include <gtest/gtest.h>

#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/attention/mask/combine.hpp>
#include <ashlar/attention/mask/local_window.hpp>
#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/scaled_alibi.hpp>
#include <ashlar/attention/score/t5_bias.hpp>
#include <ashlar/simd.hpp>

#include "support/compare.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;
using Floats = std::vector<float>;

/// Vectors of `lanes` pairs, with queries or keys on the lanes.
template <simd::OnLanes Lanes, class Mask, class Score>
void expect_pairs(Mask mask, Score score, bool on_vectors, support::Random& random) {
  AttentionOptions<Mask, Score> options;
  options.mask = mask;
  options.score = score;
  static_assert(simd::ScoreRule<Lanes, decltype(options)>::vector_mask);
  EXPECT_EQ((simd::ScoreRule<Lanes, decltype(options)>::vector_score), on_vectors);
  for (int i = 0; i < 500; ++i) {
    const index_t h = random.integer(0, 2);
    const index_t top = random.chance(0.2) ? (index_t{1} << 24) + 40 : 400;
    const index_t q = random.integer(random.chance(0.2) ? -30 : 0, top),
                  k = random.chance(0.5) ? random.integer(0, top) : max_index(0, q - 5);
    Floats s = random.normals<float>(simd::lanes, 4), expected(s.size());
    for (index_t j = 0; j < simd::lanes; ++j) {
      const index_t at_q = Lanes == simd::OnLanes::queries ? q + j : q;
      const index_t at_k = Lanes == simd::OnLanes::keys ? k + j : k;
      const auto e = static_cast<std::size_t>(j);
      expected[e] =
          mask.keep(0, h, at_q, at_k) ? log2_score(score(s[e], 0, h, at_q, at_k)) : -HUGE_VALF;
    }
    const simd::ScoreRule<Lanes, decltype(options)> rule{options, 0, h};
    rule.scored(s.data(), simd::lanes, q, k, TileKind::partial);
    double largest = 0;  // of a visible pair, for builds without fma
    for (const float x : expected)
      if (x > -HUGE_VALF) largest = std::max(largest, std::abs(double{x}));
    EXPECT_TRUE(has_fma ? support::same_bits(s, expected)
                        : support::all_close(s, expected, 1e-6 * largest))
        << "head " << h << ", query " << q << ", key " << k;
  }
}
template <class Mask, class Score>
void expect_both(Mask mask, Score score, bool on_vectors) {
  support::Random random(1);
  expect_pairs<simd::OnLanes::queries>(mask, score, on_vectors, random);
  expect_pairs<simd::OnLanes::keys>(mask, score, on_vectors, random);
}

const Floats slopes = {0.7071067f, 0.0311f, 0.25f};
TEST(ScoreRule, ScaledAlibi) {
  expect_both(CausalMask{}, ScaledAlibi(VectorView<const float>(slopes.data(), {3}), 0.125f), true);
}
TEST(ScoreRule, LocalWindowWithAlibi) {
  const Alibi alibi(VectorView<const float>(slopes.data(), {3}));
  for (const index_t distance : {0, 3, 17, 300}) expect_both(LocalWindow(distance), alibi, true);
  expect_both(LocalWindow{} & CausalMask{}, alibi, true);
}
TEST(ScoreRule, BucketedBiasIsAskedPairByPair) {
  const T5Buckets buckets(32, 128, false);
  const Floats table = support::Random(2).normals<float>(32 * 3);
  expect_both(LocalWindow(40),
              T5RelativeBias(buckets, MatrixView<const float>(table.data(), {32, 3})), false);
}

}  // namespace
