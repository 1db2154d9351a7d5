// The forward kernel on tensor cores, emulated, against the oracle.
#include <gtest/gtest.h>

#include "attention_case.hpp"
#include "functors.hpp"

namespace {

using namespace ashlar;
using cuda_test::AttentionCase;
using emulation::Copies;
using oracle::AttentionShape;

constexpr emulation::Schedule schedules[] = {
    {Copies::lazy, 1}, {Copies::eager, 2}, {Copies::lazy, 3}, {Copies::eager, 4}};

template <int Dk, int Dv, class T, class Problem>
emulation::Counters expect_forward(AttentionCase<T>& c, const Problem& problem,
                                   emulation::Schedule schedule = {}) {
  const auto counters =
      c.template expect_oracle<cuda::AttentionForward<Problem, Dk, Dv>>(problem, schedule);
  EXPECT_EQ(counters.wavefronts, 4 * counters.matrix_loads) << "bank conflicts";
  return counters;
}

/// bf16, heads of 64, a mask and a score against the oracle's options.
template <class Mask, class Score>
void expect_functors(Mask mask, Score score, oracle::AttentionOptions expected,
                     AttentionShape shape = {2, 70, 150, 4, 2, 64, 64}) {
  AttentionCase<bfloat16> c(shape, std::move(expected), 3);
  expect_forward<64, 64>(c, c.padded(mask, score), schedules[0]);
}

oracle::AttentionOptions causal() {
  oracle::AttentionOptions o;
  o.causal = true;
  return o;
}

template <class T, int Dk, int Dv>
void expect_width(oracle::Index H, oracle::Index Hv) {
  SCOPED_TRACE(testing::Message() << "H " << H << ", Hv " << Hv);
  AttentionCase<T> c({1, 67, 131, 2, 1, H, Hv}, causal());
  expect_forward<Dk, Dv>(c, c.padded(CausalMask{}, NoScore{}), schedules[H % 4]);
}

TEST(Forward, HeadWidths) {
  expect_width<bfloat16, 64, 64>(64, 64);
  expect_width<bfloat16, 64, 64>(32, 32);
  expect_width<bfloat16, 64, 64>(40, 56);
  expect_width<bfloat16, 128, 128>(128, 128);
  expect_width<bfloat16, 128, 128>(72, 96);
  expect_width<bfloat16, 192, 128>(192, 128);
  expect_width<bfloat16, 192, 192>(136, 192);
  expect_width<bfloat16, 256, 256>(256, 256);
  expect_width<bfloat16, 64, 256>(48, 248);
  expect_width<half, 64, 64>(64, 64);
  expect_width<half, 128, 128>(128, 112);
  expect_width<half, 256, 256>(256, 200);
}

TEST(Forward, LengthsAroundTheTiles) {
  for (const index_t T : {1, 15, 64, 65, 127, 128, 129})
    for (const index_t S : {1, 63, 64, 65, 129}) {
      SCOPED_TRACE(testing::Message() << "T " << T << ", S " << S);
      AttentionCase<bfloat16> c({1, T, S, 1, 1, 64, 64}, causal());
      expect_forward<64, 64>(c, c.padded(CausalMask{}, NoScore{}), schedules[(T + S) % 4]);
    }
}

TEST(Forward, Masks) {
  expect_functors(NoMask{}, NoScore{}, {});
  expect_functors(CausalMask{}, NoScore{}, causal());
  oracle::AttentionOptions window = causal();
  window.window = 50;
  expect_functors(SlidingWindow(50), NoScore{}, window);
  expect_functors(CausalMask{} & SlidingWindow(50), NoScore{}, window);
  oracle::AttentionOptions local;
  local.keep = [](index_t, index_t, index_t p, index_t k) { return std::abs(p - k) <= 33; };
  expect_functors(LocalWindow(33), NoScore{}, local);
  oracle::AttentionOptions either;
  either.keep = [](index_t, index_t, index_t p, index_t k) {
    return (k <= p && k > p - 10) || std::abs(p - k) <= 40;
  };
  expect_functors(SlidingWindow(10) | LocalWindow(40), NoScore{}, either);
  oracle::AttentionOptions per_head;
  per_head.keep = [](index_t, index_t h, index_t p, index_t k) {
    return k <= p && k > p - 20 * (h + 1);
  };
  expect_functors(cuda_test::WindowPerHead{}, NoScore{}, per_head);
}

TEST(Forward, MasksOfAUser) {
  const auto strayed = std::make_unique<bool>(false);
  oracle::AttentionOptions holes;
  holes.keep = [](index_t b, index_t h, index_t q, index_t k) {
    return cuda_test::Holes{}.keep(b, h, q, k);
  };
  expect_functors(cuda_test::Holes{80, 150, 150, strayed.get()}, NoScore{}, holes);
  EXPECT_FALSE(*strayed) << "asked about a pair that does not exist";

  std::vector<int> ids(150);
  for (int i = 0; i < 150; ++i) ids[static_cast<std::size_t>(i)] = i / 45;
  oracle::AttentionOptions documents;
  documents.documents.assign(ids.begin(), ids.end());
  expect_functors(cuda_test::Documents{ids.data()}, NoScore{}, documents,
                  {1, 150, 150, 2, 2, 64, 64});
}

TEST(Forward, RowsThatSeeNothingAreZero) {
  oracle::AttentionOptions nothing;
  nothing.keep = [](index_t, index_t, index_t, index_t) { return false; };
  expect_functors(cuda_test::Nothing{}, NoScore{}, nothing);
  nothing.sinks = {0.5, -3, 4, 0};
  expect_functors(cuda_test::Nothing{}, NoScore{}, nothing);
  // The first rows of a prompt that is longer than the keys stand at negative positions.
  expect_functors(CausalMask{}, NoScore{}, causal(), {1, 150, 40, 2, 1, 64, 64});
}

TEST(Forward, Scores) {
  const std::vector<float> slopes = alibi_slopes(4);
  const VectorView<const float> view(slopes.data(), {4});
  oracle::AttentionOptions o = causal();
  o.softcap = 2;
  expect_functors(CausalMask{}, SoftCap(2.f), o);
  o.alibi_slopes.assign(slopes.begin(), slopes.end());
  expect_functors(CausalMask{}, SoftCap(2.f) >> Alibi(view), o);
  o.softcap = 0;
  expect_functors(CausalMask{}, Alibi(view), o);
  oracle::AttentionOptions own;
  own.bias = [](index_t b, index_t h, index_t q, index_t k) {
    return -static_cast<double>((q + 2 * k + h + b) % 5);
  };
  expect_functors(NoMask{}, cuda_test::OwnScore{}, own);
  const T5Buckets buckets(8, 40, true);
  std::vector<float> bias(8 * 4);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = 0.25f * static_cast<float>(i % 7);
  oracle::AttentionOptions t5;
  t5.bias = [&](index_t, index_t h, index_t q, index_t k) {
    return double(bias[oracle::to_size(oracle::t5_bucket(k - q, true, 8, 40) * 4 + h)]);
  };
  const std::vector<std::int32_t> copy(buckets.list().data(), buckets.list().data() + 81);
  expect_functors(NoMask{},
                  T5RelativeBias(VectorView<const std::int32_t>(copy.data(), {81}),
                                 MatrixView<const float>(bias.data(), {8, 4})),
                  t5);
  // Falcon's: scale (s + slope key) with slope, key and product in bfloat16.
  oracle::AttentionOptions falcon = causal();
  falcon.bias = [&](index_t, index_t h, index_t, index_t k) {
    const auto round = [](double x) { return double(float(bfloat16(static_cast<float>(x)))); };
    return 0.125 * round(round(slopes[oracle::to_size(h)]) * round(static_cast<double>(k)));
  };
  falcon.scale = 0.125;
  AttentionCase<bfloat16> c({2, 70, 150, 4, 2, 64, 64}, falcon, 3);
  auto p = c.padded(CausalMask{}, ScaledAlibi(view, 0.125f));
  p.scale = 1.f;
  expect_forward<64, 64>(c, p);
}

TEST(Forward, ScoresOfTheWidestHeads) {  // in tiles of 16 keys
  oracle::AttentionOptions o = causal();
  o.softcap = 3;
  AttentionCase<bfloat16> c({1, 67, 131, 2, 1, 248, 256}, o);
  expect_forward<256, 256>(c, c.padded(CausalMask{}, SoftCap(3.f)), schedules[0]);
}

TEST(Forward, ScalesOfBothSigns) {
  for (const double scale : {-0.2, 1.5, 1e-3}) {
    oracle::AttentionOptions o = causal();
    o.scale = scale;
    expect_functors(CausalMask{}, NoScore{}, o);
    o.softcap = 3;
    expect_functors(CausalMask{}, SoftCap(3.f), o);
  }
}

TEST(Forward, Sinks) {
  oracle::AttentionOptions o = causal();
  o.sinks = {0.5, -30, 12, 0};
  expect_functors(CausalMask{}, NoScore{}, o);
}

TEST(Forward, LengthsAndOffsetsOfASequence) {
  oracle::AttentionOptions o = causal();
  o.q_lengths = {70, 1, 33, 0};
  o.kv_lengths = {150, 77, 0, 12};
  o.sinks = {1, 2};
  expect_functors(CausalMask{}, NoScore{}, o, {4, 70, 150, 2, 1, 64, 64});
  o.q_offset = {100, -5, 0, 3};
  expect_functors(CausalMask{}, NoScore{}, o, {4, 70, 150, 2, 1, 64, 64});
}

TEST(Forward, PackedSequences) {
  oracle::AttentionOptions o = causal();
  o.q_lengths = {70, 1, 33, 0, 64};
  o.kv_lengths = {150, 77, 40, 12, 64};
  AttentionCase<bfloat16> c({5, 70, 150, 4, 2, 64, 64}, o);
  for (const auto schedule : schedules)
    expect_forward<64, 64>(c, c.packed(CausalMask{}, NoScore{}), schedule);
}

TEST(Forward, Pages) {
  oracle::AttentionOptions o = causal();
  o.kv_lengths = {150, 77, 1};
  for (const int log2_page : {0, 4, 6}) {
    AttentionCase<bfloat16> c({3, 33, 150, 4, 2, 64, 64}, o);
    expect_forward<64, 64>(c, c.paged(CausalMask{}, NoScore{}, log2_page), schedules[1]);
  }
}

TEST(Forward, EveryScheduleGivesTheSameBits) {
  AttentionCase<half> c({1, 130, 200, 2, 1, 64, 64}, causal());
  std::vector<float> first;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    expect_forward<64, 64>(c, c.padded(CausalMask{}, NoScore{}),
                           {seed % 2 ? Copies::lazy : Copies::eager, seed});
    if (seed == 1) first = c.answer().out;
    EXPECT_TRUE(support::same_bits(c.answer().out, first));
  }
}

TEST(Forward, BitsDoNotDependOnHowAPromptIsCut) {
  AttentionCase<bfloat16> c({1, 150, 150, 2, 1, 64, 64}, causal());
  auto p = c.padded(CausalMask{}, NoScore{});
  expect_forward<64, 64>(c, p);
  const std::vector<float> whole = c.answer().out;
  for (index_t begin = 0; begin < 150; begin += 37) {
    auto chunk = p;
    const index_t end = min_index(begin + 37, 150);
    chunk.q = p.q.slice(1, begin, end);
    chunk.out = p.out.slice(1, begin, end);
    chunk.options.lse = p.options.lse.slice(2, begin, end);
    chunk.most_queries = end - begin;
    chunk.options.q_offset = begin;
    chunk.options.kv_lengths = end;
    emulation::launch<cuda::AttentionForward<decltype(p), 64, 64>>(chunk);
  }
  EXPECT_TRUE(support::same_bits(c.answer().out, whole));
}

TEST(Forward, LargeScoresStayFinite) {
  oracle::AttentionOptions o = causal();
  o.scale = 400;
  AttentionCase<bfloat16> c({1, 40, 90, 2, 1, 64, 64}, o);
  // Weights of 0 and 1: only the largest score counts, so the budget of the scores does not apply.
  auto p = c.padded(CausalMask{}, NoScore{});
  emulation::launch<cuda::AttentionForward<decltype(p), 64, 64>>(p);
  for (const float x : c.answer().out) EXPECT_TRUE(std::isfinite(x));
  for (const float x : c.answer().lse) EXPECT_TRUE(std::isfinite(x));
}

TEST(Forward, ANaNInVisibleDataShows) {
  AttentionCase<bfloat16> c({1, 20, 70, 1, 1, 64, 64}, causal());
  auto p = c.padded(NoMask{}, NoScore{});
  const_cast<bfloat16&>(p.kv.k(0, 66, 0, 5)) = bfloat16(NAN);
  emulation::launch<cuda::AttentionForward<decltype(p), 64, 64>>(p);
  for (const float x : c.answer().out) EXPECT_TRUE(std::isnan(x));
}

TEST(Forward, HiddenTilesAreNotRead) {
  AttentionCase<bfloat16> c({1, 128, 512, 1, 1, 64, 64}, [] {
    oracle::AttentionOptions o = causal();
    o.q_offset = {0};
    return o;
  }());
  const auto counters = expect_forward<64, 64>(c, c.padded(CausalMask{}, NoScore{}));
  // Q once, and two of the eight tiles of K and V.
  EXPECT_EQ(counters.copies, emulation::is_emulated ? 128u * 8 + 2 * 2 * 64 * 8 : 0u);
}

}  // namespace
