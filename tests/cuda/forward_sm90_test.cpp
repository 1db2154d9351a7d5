// The forward kernel of sm_90a, emulated, against the oracle.
#include <gtest/gtest.h>

#include <ashlar/cuda/attention_forward_sm90.hpp>

#include "attention_case.hpp"
#include "functors.hpp"

namespace {

using namespace ashlar;
using cuda_test::AttentionCase;
using emulation::Copies;
using oracle::AttentionShape;

constexpr emulation::Schedule schedules[] = {
    {Copies::lazy, 1}, {Copies::eager, 2}, {Copies::lazy, 3}, {Copies::eager, 4}};

template <int Consumers, int Keys, bool Overlap>
struct Shape {
  static constexpr int consumers = Consumers, keys = Keys;
  static constexpr bool overlap = Overlap;
};
template <class Problem, int Dk, int Dv>
using Usual = cuda::Sm90Shape<Dk, Dv, Problem::has_score>;

/// On three multiprocessors, so that blocks take several tiles.
template <int Dk, int Dv, class T, class Problem, class S = Usual<Problem, Dk, Dv>>
emulation::Counters expect_forward(AttentionCase<T>& c, const Problem& problem,
                                   emulation::Schedule schedule = {}, S = {},
                                   index_t multiprocessors = 3) {
  using Kernel = cuda::AttentionForwardSm90<Problem, Dk, Dv, S>;
  return c.template expect_oracle<Kernel>({problem, multiprocessors}, schedule);
}

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
  AttentionCase<T> c({1, 67, 261, 2, 1, H, Hv}, causal());
  expect_forward<Dk, Dv>(c, c.padded(CausalMask{}, NoScore{}), schedules[H / 8 % 4]);
}

TEST(ForwardSm90, HeadWidths) {
  expect_width<bfloat16, 64, 64>(64, 64);
  expect_width<bfloat16, 64, 64>(40, 56);
  expect_width<bfloat16, 128, 128>(128, 128);
  expect_width<bfloat16, 128, 128>(72, 96);
  expect_width<bfloat16, 192, 128>(192, 128);
  expect_width<bfloat16, 192, 192>(136, 192);
  expect_width<bfloat16, 256, 256>(256, 256);
  expect_width<bfloat16, 256, 256>(48, 248);
  expect_width<half, 64, 64>(64, 64);
  expect_width<half, 128, 128>(128, 112);
  expect_width<half, 256, 256>(256, 200);
}

TEST(ForwardSm90, LengthsAroundTheTiles) {
  for (const index_t T : {1, 64, 65, 191, 193})
    for (const index_t S : {1, 127, 128, 129, 257}) {
      SCOPED_TRACE(testing::Message() << "T " << T << ", S " << S);
      AttentionCase<bfloat16> c({1, T, S, 1, 1, 64, 64}, causal());
      expect_forward<64, 64>(c, c.padded(CausalMask{}, NoScore{}), schedules[(T + S) % 4]);
    }
}

/// Every division of work with both schedules of a softmax, where copies land late and at once.
template <class T, int Dk, int Dv, class S>
void expect_shape(S shape) {
  SCOPED_TRACE(testing::Message() << Dk << ", " << Dv << ": " << S::consumers << " x " << S::keys
                                  << (S::overlap ? ", overlapped" : ""));
  oracle::AttentionOptions o = causal();
  o.kv_lengths = {390, 251};
  AttentionCase<T> c({2, 70, 390, 1, 1, Dk, Dv}, o);
  const auto p = c.padded(CausalMask{}, NoScore{});
  for (int i = 0; i < 2; ++i) expect_forward<Dk, Dv>(c, p, schedules[i], shape);
}

TEST(ForwardSm90, Shapes) {
  expect_shape<bfloat16, 64, 64>(Shape<3, 128, false>{});
  expect_shape<bfloat16, 64, 64>(Shape<2, 128, true>{});
  expect_shape<half, 64, 64>(Shape<3, 80, true>{});
  expect_shape<bfloat16, 128, 128>(Shape<2, 128, false>{});
  expect_shape<half, 128, 128>(Shape<3, 96, true>{});
  expect_shape<half, 256, 256>(Shape<2, 80, true>{});
}

TEST(ForwardSm90, Masks) {
  expect_functors(NoMask{}, NoScore{}, {});
  oracle::AttentionOptions window = causal();
  window.window = 50;
  expect_functors(SlidingWindow(50), NoScore{}, window, {1, 200, 500, 2, 2, 64, 64});
  expect_functors(CausalMask{} & SlidingWindow(50), NoScore{}, window);
  oracle::AttentionOptions local;
  local.keep = [](index_t, index_t, index_t p, index_t k) { return std::abs(p - k) <= 33; };
  expect_functors(LocalWindow(33), NoScore{}, local);
  oracle::AttentionOptions per_head;
  per_head.keep = [](index_t, index_t h, index_t p, index_t k) {
    return k <= p && k > p - 20 * (h + 1);
  };
  expect_functors(cuda_test::WindowPerHead{}, NoScore{}, per_head);
}

TEST(ForwardSm90, MasksOfAUser) {
  const auto strayed = std::make_unique<bool>(false);
  oracle::AttentionOptions holes;
  holes.keep = [](index_t b, index_t h, index_t q, index_t k) {
    return cuda_test::Holes{}.keep(b, h, q, k);
  };
  expect_functors(cuda_test::Holes{80, 150, 150, strayed.get()}, NoScore{}, holes);
  EXPECT_FALSE(*strayed) << "asked about a pair that does not exist";

  std::vector<int> ids(410);  // documents in the middle of which whole tiles are hidden
  for (int i = 0; i < 410; ++i) ids[static_cast<std::size_t>(i)] = i / 45;
  oracle::AttentionOptions documents;
  documents.documents.assign(ids.begin(), ids.end());
  expect_functors(cuda_test::Documents{ids.data()}, NoScore{}, documents,
                  {1, 410, 410, 1, 1, 64, 64});
}

TEST(ForwardSm90, RowsThatSeeNothingAreZero) {
  oracle::AttentionOptions nothing;
  nothing.keep = [](index_t, index_t, index_t, index_t) { return false; };
  nothing.sinks = {0.5, -3, 4, 0};
  expect_functors(cuda_test::Nothing{}, NoScore{}, nothing);
  // The first rows of a prompt that is longer than the keys stand at negative positions.
  expect_functors(CausalMask{}, NoScore{}, causal(), {1, 450, 40, 2, 1, 64, 64});
}

TEST(ForwardSm90, Scores) {
  const std::vector<float> slopes = alibi_slopes(4);
  const VectorView<const float> view(slopes.data(), {4});
  oracle::AttentionOptions o = causal();
  o.softcap = 2;
  expect_functors(CausalMask{}, SoftCap(2.f), o);
  o.alibi_slopes.assign(slopes.begin(), slopes.end());
  expect_functors(CausalMask{}, SoftCap(2.f) >> Alibi(view), o);
  oracle::AttentionOptions own;
  own.bias = [](index_t b, index_t h, index_t q, index_t k) {
    return -static_cast<double>((q + 2 * k + h + b) % 5);
  };
  expect_functors(NoMask{}, cuda_test::OwnScore{}, own);
  o.alibi_slopes.clear();
  AttentionCase<bfloat16> c({1, 67, 131, 2, 1, 248, 256}, o);
  expect_forward<256, 256>(c, c.padded(CausalMask{}, SoftCap(2.f)), schedules[1]);
}

TEST(ForwardSm90, ScalesOfBothSigns) {
  for (const double scale : {-0.2, 1.5, 1e-3}) {
    oracle::AttentionOptions o = causal();
    o.scale = scale;
    expect_functors(CausalMask{}, NoScore{}, o);
  }
  oracle::AttentionOptions o;
  o.scale = -0.2;
  o.softcap = 3;
  expect_functors(NoMask{}, SoftCap(3.f), o);
}

TEST(ForwardSm90, SinksLengthsAndOffsetsOfASequence) {
  oracle::AttentionOptions o = causal();
  o.q_lengths = {70, 1, 33, 0};
  o.kv_lengths = {150, 77, 0, 12};
  o.sinks = {1, 2};
  for (const auto schedule : schedules) {
    AttentionCase<bfloat16> c({4, 70, 150, 2, 1, 64, 64}, o, 3);
    expect_forward<64, 64>(c, c.padded(CausalMask{}, NoScore{}), schedule);
  }
  o.q_offset = {100, -5, 0, 3};
  expect_functors(CausalMask{}, NoScore{}, o, {4, 70, 150, 2, 1, 64, 64});
  o.q_offset = {};
  AttentionCase<half> c({4, 70, 150, 2, 1, 128, 128}, o, 3);
  expect_forward<128, 128>(c, c.padded(NoMask{} & CausalMask{}, NoScore{}), schedules[1]);
}

TEST(ForwardSm90, EveryScheduleAndEveryNumberOfBlocksGivesTheSameBits) {
  AttentionCase<half> c({1, 270, 300, 2, 1, 64, 64}, causal());
  const auto p = c.padded(CausalMask{}, NoScore{});
  std::vector<float> first;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    expect_forward<64, 64>(c, p, {seed % 2 ? Copies::lazy : Copies::eager, seed},
                           Shape<2, 128, true>{}, static_cast<index_t>(seed));
    if (seed == 1) first = c.answer().out;
    EXPECT_TRUE(support::same_bits(c.answer().out, first));
  }
}

TEST(ForwardSm90, BitsDoNotDependOnHowAPromptIsCut) {
  AttentionCase<bfloat16> c({1, 250, 250, 2, 1, 64, 64}, causal());
  auto p = c.padded(CausalMask{}, NoScore{});
  expect_forward<64, 64>(c, p);
  const std::vector<float> whole = c.answer().out;
  for (index_t begin = 0; begin < 250; begin += 97) {
    auto chunk = p;
    const index_t end = min_index(begin + 97, 250);
    chunk.q = p.q.slice(1, begin, end);
    chunk.out = p.out.slice(1, begin, end);
    chunk.options.lse = p.options.lse.slice(2, begin, end);
    chunk.most_queries = end - begin;
    chunk.options.q_offset = begin;
    chunk.options.kv_lengths = end;
    emulation::launch<cuda::AttentionForwardSm90<decltype(p), 64, 64>>({chunk, 2});
  }
  EXPECT_TRUE(support::same_bits(c.answer().out, whole));
}

TEST(ForwardSm90, ANaNInVisibleDataShowsAndOneInHiddenTilesDoesNot) {
  AttentionCase<bfloat16> c({1, 20, 300, 1, 1, 64, 64}, causal());
  auto p = c.padded(NoMask{}, NoScore{});
  using Kernel = cuda::AttentionForwardSm90<decltype(p), 64, 64>;
  const_cast<bfloat16&>(p.kv.k(0, 66, 0, 5)) = bfloat16(NAN);
  emulation::launch<Kernel>({p, 1});
  for (const float x : c.answer().out) EXPECT_TRUE(std::isnan(x));

  oracle::AttentionOptions window = causal();
  window.window = 20;
  AttentionCase<bfloat16> d({1, 20, 300, 1, 1, 64, 64}, window);
  const auto hidden = d.padded(SlidingWindow(20), NoScore{});
  const_cast<bfloat16&>(hidden.kv.v(0, 200, 0, 5)) = bfloat16(NAN);
  const_cast<bfloat16&>(hidden.kv.k(0, 258, 0, 5)) = bfloat16(NAN);  // in a tile with visible ones
  expect_forward<64, 64>(d, hidden);
}

TEST(ForwardSm90, LargeScoresStayFinite) {
  oracle::AttentionOptions o = causal();
  o.scale = 400;
  AttentionCase<bfloat16> c({1, 40, 90, 2, 1, 64, 64}, o);
  auto p = c.padded(CausalMask{}, NoScore{});
  emulation::launch<cuda::AttentionForwardSm90<decltype(p), 64, 64>>({p, 1});
  for (const float x : c.answer().out) EXPECT_TRUE(std::isfinite(x));
  for (const float x : c.answer().lse) EXPECT_TRUE(std::isfinite(x));
}

TEST(ForwardSm90, HiddenTilesAreNotRead) {
  AttentionCase<bfloat16> c({1, 128, 512, 1, 1, 64, 64}, [] {
    oracle::AttentionOptions o = causal();
    o.q_offset = {0};
    return o;
  }());
  const auto counters = expect_forward<64, 64>(c, c.padded(CausalMask{}, NoScore{}));
  if (!emulation::is_emulated) return;  // a real device counts nothing
  EXPECT_EQ(counters.copies, 1u + 2);   // boxes: Q, and one of the four tiles of K and V
  // Each warp of three warpgroups: 4 steps of 16 columns for the scores, 8 of 16 keys for values.
  EXPECT_EQ(counters.warpgroup_products, 12u * (4 + 8));
}

}  // namespace
