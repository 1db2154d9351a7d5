// The f32 kernel without tensor cores, emulated, against the oracle.
#include <ashlar/cuda/attention_fallback.hpp>

#include "attention_case.hpp"
#include "functors.hpp"

namespace {

using namespace ashlar;
using cuda_test::AttentionCase;
using emulation::Copies;
using oracle::AttentionShape;

template <class T, class Problem>
void expect_fallback(AttentionCase<T>& c, const Problem& problem, std::uint64_t seed = 1) {
  c.template expect_oracle<cuda::AttentionFallback<Problem>>(problem, {Copies::lazy, seed});
}
oracle::AttentionOptions causal() {
  oracle::AttentionOptions o;
  o.causal = true;
  return o;
}

TEST(Fallback, WidthsThatNoOtherKernelTakes) {
  for (const auto& [H, Hv] : std::vector<std::pair<index_t, index_t>>{
           {1, 1}, {7, 31}, {33, 5}, {64, 64}, {576, 512}, {1024, 1024}}) {
    SCOPED_TRACE(testing::Message() << "H " << H << ", Hv " << Hv);
    AttentionCase<float> c({1, 9, 37, 2, 1, H, Hv}, causal());
    expect_fallback(c, c.padded(CausalMask{}, NoScore{}, 3), static_cast<std::uint64_t>(H));
  }
}

TEST(Fallback, ElementTypes) {
  AttentionCase<bfloat16> b({2, 19, 70, 4, 2, 36, 20}, causal());
  expect_fallback(b, b.padded(CausalMask{}, NoScore{}, 1));
  AttentionCase<half> h({2, 19, 70, 4, 2, 36, 20}, causal());
  expect_fallback(h, h.padded(CausalMask{}, NoScore{}, 1));
}

TEST(Fallback, MasksAndScores) {
  const AttentionShape shape{2, 21, 90, 4, 2, 24, 40};
  oracle::AttentionOptions window = causal();
  window.window = 20;
  AttentionCase<float> sliding(shape, window);
  expect_fallback(sliding, sliding.padded(SlidingWindow(20), NoScore{}));

  const auto strayed = std::make_unique<bool>(false);
  oracle::AttentionOptions holes;
  holes.keep = [](index_t b, index_t h, index_t q, index_t k) {
    return cuda_test::Holes{}.keep(b, h, q, k);
  };
  AttentionCase<float> own(shape, holes);
  expect_fallback(own, own.padded(cuda_test::Holes{69, 90, 90, strayed.get()}, NoScore{}));
  EXPECT_FALSE(*strayed) << "asked about a pair that does not exist";

  const std::vector<float> slopes = alibi_slopes(4);
  oracle::AttentionOptions scores = causal();
  scores.softcap = 2;
  scores.alibi_slopes.assign(slopes.begin(), slopes.end());
  AttentionCase<float> alibi(shape, scores);
  const VectorView<const float> view(slopes.data(), {4});
  expect_fallback(alibi, alibi.padded(CausalMask{}, SoftCap(2.f) >> Alibi(view)));
}

TEST(Fallback, LengthsOffsetsSinksAndScales) {
  oracle::AttentionOptions o = causal();
  o.q_lengths = {21, 1, 0, 20};
  o.kv_lengths = {90, 33, 50, 0};
  o.sinks = {1, -20, 3, 0};
  o.scale = -0.3;
  AttentionCase<float> c({4, 21, 90, 4, 2, 24, 40}, o);
  expect_fallback(c, c.padded(CausalMask{}, NoScore{}));
  c.options.q_offset = {10, -7, 0, 5};
  expect_fallback(c, c.padded(CausalMask{}, NoScore{}));
}

TEST(Fallback, PackedSequencesAndPages) {
  oracle::AttentionOptions o = causal();
  o.q_lengths = {21, 1, 0, 20};
  o.kv_lengths = {90, 33, 50, 20};
  AttentionCase<float> packed({4, 21, 90, 4, 2, 24, 40}, o);
  expect_fallback(packed, packed.packed(CausalMask{}, NoScore{}));
  o.q_lengths.clear();
  AttentionCase<float> paged({4, 21, 90, 4, 2, 24, 40}, o);
  expect_fallback(paged, paged.paged(CausalMask{}, NoScore{}, 4));
}

TEST(Fallback, WhatAQueryDoesNotSeeChangesNoBit) {
  AttentionCase<float> c({1, 40, 40, 2, 1, 24, 40}, causal());
  auto p = c.padded(CausalMask{}, NoScore{});
  expect_fallback(c, p);
  auto before = c.answer().out;
  for (index_t d = 0; d < 40; ++d) const_cast<float&>(p.kv.v(0, 25, 0, d)) = NAN;
  for (index_t h = 0; h < 24; ++h) const_cast<float&>(p.kv.k(0, 25, 0, h)) = INFINITY;
  emulation::launch<cuda::AttentionFallback<decltype(p)>>(p);
  auto after = c.answer().out;
  for (std::size_t i = 25u * 2 * 40; i < after.size(); ++i) EXPECT_TRUE(std::isnan(after[i]));
  before.resize(25u * 2 * 40);
  after.resize(25u * 2 * 40);
  EXPECT_TRUE(support::same_bits(after, before));
}

}  // namespace
