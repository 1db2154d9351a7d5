// Split-key decoding and the merge of the splits, emulated, against the oracle.
#include <ashlar/cuda/attention_combine.hpp>
#include <ashlar/cuda/attention_decode.hpp>

#include "attention_case.hpp"
#include "functors.hpp"

namespace {

using namespace ashlar;
using cuda_test::AttentionCase;
using emulation::Copies;
using oracle::AttentionShape;

/// Runs both kernels with splits of `split_keys`; partial results that nobody writes stay NaN.
template <int Dk, int Dv, class T, class Problem>
void run_decode(AttentionCase<T>& c, const Problem& problem, index_t split_keys,
                emulation::Schedule schedule = {}, index_t further_splits = 0) {
  const index_t splits = ceil_div(c.s.S, split_keys) + further_splits;
  const index_t rows = c.s.B * c.s.N * c.s.T;
  support::PoisonedBuffer<float> out(rows * splits * c.s.Hv);
  support::PoisonedBuffer<SoftmaxState<float>> state(rows * splits);
  const cuda::DecodeArguments<Problem> arguments{problem,
                                                 {out.data(), state.data(), splits, split_keys}};
  try {
    const auto counters =
        emulation::launch<cuda::AttentionDecode<Problem, Dk, Dv>>(arguments, schedule);
    EXPECT_EQ(counters.wavefronts, 4 * counters.matrix_loads) << "bank conflicts";
    emulation::launch<cuda::AttentionCombine<Problem>>(arguments, schedule);
  } catch (const emulation::Fault& fault) {
    ADD_FAILURE() << fault.what();
  }
}
template <int Dk, int Dv, class T, class Problem>
void expect_decode(AttentionCase<T>& c, const Problem& problem, index_t split_keys,
                   emulation::Schedule schedule = {}) {
  run_decode<Dk, Dv>(c, problem, split_keys, schedule);
  c.compare();
}

oracle::AttentionOptions causal(std::vector<index_t> kv_lengths = {}) {
  oracle::AttentionOptions o;
  o.causal = true;
  o.kv_lengths = std::move(kv_lengths);
  return o;
}

template <class T, int Dk, int Dv>
void expect_width(oracle::Index H, oracle::Index Hv) {
  SCOPED_TRACE(testing::Message() << "H " << H << ", Hv " << Hv);
  AttentionCase<T> c({2, 2, 300, 4, 2, H, Hv}, causal({300, 71}));
  expect_decode<Dk, Dv>(c, c.padded(CausalMask{}, NoScore{}), 128,
                        {H % 16 ? Copies::lazy : Copies::eager, 5});
}

TEST(Decode, HeadWidths) {
  expect_width<bfloat16, 64, 64>(64, 64);
  expect_width<bfloat16, 64, 64>(40, 32);
  expect_width<bfloat16, 128, 128>(128, 128);
  expect_width<bfloat16, 128, 128>(80, 120);
  expect_width<bfloat16, 192, 128>(192, 128);
  expect_width<bfloat16, 256, 256>(256, 232);
  expect_width<half, 64, 64>(64, 64);
  expect_width<half, 128, 128>(128, 128);
}

TEST(Decode, SplitsOfEverySize) {
  for (const index_t split : {64, 128, 192, 256, 1024})
    for (const Copies copies : {Copies::lazy, Copies::eager}) {
      AttentionCase<bfloat16> c({3, 1, 520, 4, 1, 64, 64}, causal({520, 64, 65}));
      expect_decode<64, 64>(c, c.padded(CausalMask{}, NoScore{}), split,
                            {copies, static_cast<std::uint64_t>(split)});
    }
}

TEST(Decode, HeadsThatShareKeysAreRowsOfOneProduct) {
  for (const index_t group : {1, 3, 8, 16, 20})  // 3 queries: up to 60 rows, four blocks
    for (const index_t key_heads : {1, 2}) {
      AttentionCase<bfloat16> c({1, 3, 130, group * key_heads, key_heads, 64, 64}, causal());
      expect_decode<64, 64>(c, c.padded(CausalMask{}, NoScore{}), 64,
                            {Copies::lazy, static_cast<std::uint64_t>(group)});
    }
}

TEST(Decode, MasksAndScores) {
  AttentionShape shape{2, 2, 300, 8, 2, 64, 64};
  oracle::AttentionOptions window = causal({300, 190});
  window.window = 70;
  AttentionCase<bfloat16> sliding(shape, window);
  expect_decode<64, 64>(sliding, sliding.padded(SlidingWindow(70), NoScore{}), 128);

  oracle::AttentionOptions per_head;
  per_head.keep = [](index_t, index_t h, index_t p, index_t k) {
    return k <= p && k > p - 20 * (h + 1);
  };
  AttentionCase<bfloat16> heads(shape, per_head);
  expect_decode<64, 64>(heads, heads.padded(cuda_test::WindowPerHead{}, NoScore{}), 128);

  const auto strayed = std::make_unique<bool>(false);
  oracle::AttentionOptions holes;
  holes.keep = [](index_t b, index_t h, index_t q, index_t k) {
    return cuda_test::Holes{}.keep(b, h, q, k);
  };
  AttentionCase<bfloat16> own(shape, holes);
  expect_decode<64, 64>(own, own.padded(cuda_test::Holes{298, 300, 300, strayed.get()}, NoScore{}),
                        64);
  EXPECT_FALSE(*strayed) << "asked about a pair that does not exist";

  const std::vector<float> slopes = alibi_slopes(8);
  oracle::AttentionOptions scores = causal({300, 2});
  scores.softcap = 2;
  scores.alibi_slopes.assign(slopes.begin(), slopes.end());
  AttentionCase<bfloat16> alibi(shape, scores);
  expect_decode<64, 64>(alibi,
                        alibi.padded(CausalMask{}, SoftCap(2.f) >> Alibi(VectorView<const float>(
                                                                       slopes.data(), {8}))),
                        128);
}

TEST(Decode, SinksAndRowsThatSeeNothing) {
  oracle::AttentionOptions o = causal({300, 0, 1});
  o.q_lengths = {3, 2, 0};
  o.sinks = {0.5, -30, 12, 0};
  AttentionCase<bfloat16> c({3, 3, 300, 4, 2, 64, 64}, o);
  expect_decode<64, 64>(c, c.padded(CausalMask{}, NoScore{}), 128);
  o.sinks.clear();
  AttentionCase<bfloat16> plain({3, 3, 300, 4, 2, 64, 64}, o);
  expect_decode<64, 64>(plain, plain.padded(CausalMask{}, NoScore{}), 128);
}

TEST(Decode, ScalesOfBothSigns) {
  for (const double scale : {-0.2, 1.5}) {
    oracle::AttentionOptions o = causal();
    o.scale = scale;
    AttentionCase<bfloat16> c({1, 1, 200, 2, 1, 64, 64}, o);
    expect_decode<64, 64>(c, c.padded(CausalMask{}, NoScore{}), 64);
  }
}

TEST(Decode, PagesInAnyOrder) {
  for (const int log2_page : {0, 4, 7}) {
    AttentionCase<bfloat16> c({3, 2, 400, 8, 2, 64, 64}, causal({400, 77, 2}));
    expect_decode<64, 64>(c, c.paged(CausalMask{}, NoScore{}, log2_page), 128,
                          {log2_page ? Copies::lazy : Copies::eager, 9});
  }
  AttentionCase<half> wide({2, 1, 200, 8, 2, 128, 128}, causal({200, 130}));
  expect_decode<128, 128>(wide, wide.paged(CausalMask{}, NoScore{}, 4), 64);
}

TEST(Decode, BitsDoNotDependOnTheBatchThePagesOrTheSchedule) {
  const AttentionShape shape{1, 1, 300, 4, 2, 64, 64};
  AttentionCase<bfloat16> alone(shape, causal({300}));
  run_decode<64, 64>(alone, alone.padded(CausalMask{}, NoScore{}), 128);
  const auto bits = alone.answer().out;
  run_decode<64, 64>(alone, alone.paged(CausalMask{}, NoScore{}, 4), 128, {Copies::eager, 11}, 3);
  EXPECT_TRUE(support::same_bits(alone.answer().out, bits));

  // The same sequence as the second of three, beside a longer one.
  AttentionCase<bfloat16> batch({3, 1, 700, 4, 2, 64, 64}, causal({700, 300, 5}));
  const auto place = [](oracle::Vec& to, const oracle::Vec& from, index_t at) {
    std::copy(from.begin(), from.end(), to.begin() + at);
  };
  place(batch.q, alone.q, 4 * 64);
  place(batch.k, alone.k, 700 * 2 * 64);
  place(batch.v, alone.v, 700 * 2 * 64);
  run_decode<64, 64>(batch, batch.padded(CausalMask{}, NoScore{}), 128, {Copies::lazy, 12});
  batch.compare();
  const auto all = batch.answer().out;
  EXPECT_TRUE(support::same_bits(std::vector<float>(all.begin() + 256, all.begin() + 512), bits));
}

TEST(Decode, HiddenKeysAreNotRead) {
  AttentionCase<bfloat16> c({1, 1, 1024, 4, 1, 64, 64}, causal());
  auto p = c.padded(SlidingWindow(16), NoScore{});
  support::PoisonedBuffer<float> out(4 * 4 * 64);
  support::PoisonedBuffer<SoftmaxState<float>> state(4 * 4);
  const cuda::DecodeArguments<decltype(p)> arguments{p, {out.data(), state.data(), 4, 256}};
  const auto counters = emulation::launch<cuda::AttentionDecode<decltype(p), 64, 64>>(arguments);
  // Queries for each of the four splits; of the keys one step of 16 rows, 8 chunks of K and of V.
  EXPECT_EQ(counters.copies, emulation::is_emulated ? 4u * 16 * 8 + 2 * 16 * 8 : 0u);
}

}  // namespace
