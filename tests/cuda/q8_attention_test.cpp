// Attention on a cache of Q8_0, emulated, against the oracle on what the cache decodes to.
#include <ashlar/cuda/attention_q8_launch.cuh>

#include "functors.hpp"
#include "on_device.hpp"
#include "q8_case.hpp"
#include "support/message.hpp"

namespace {

using namespace ashlar;
using cuda_test::Q8Case;
using emulation::Copies;
using oracle::AttentionShape;

oracle::AttentionOptions causal(std::vector<index_t> kv_lengths = {}) {
  oracle::AttentionOptions o;
  o.causal = true;
  o.kv_lengths = std::move(kv_lengths);
  return o;
}

/// Both kernels of decoding with splits of `split_keys`; partial results that nobody writes are
/// NaN.
template <int Dk, int Dv, class T, class Problem>
emulation::Counters run_decode(Q8Case<T>& c, const Problem& p, index_t split_keys,
                               emulation::Schedule schedule = {}) {
  const index_t splits = ceil_div(c.s.S, split_keys), rows = c.s.B * c.s.N * c.s.T;
  support::PoisonedBuffer<float> out(rows * splits * c.s.Hv);
  support::PoisonedBuffer<SoftmaxState<float>> state(rows * splits);
  const cuda::DecodeArguments<Problem> a{p, {out.data(), state.data(), splits, split_keys}};
  emulation::Counters counters;
  try {
    counters = emulation::launch<cuda::AttentionDecode<Problem, Dk, Dv>>(a, schedule);
    EXPECT_EQ(counters.wavefronts, 4 * counters.matrix_loads) << "bank conflicts";
    emulation::launch<cuda::AttentionCombine<Problem>>(a, schedule);
  } catch (const emulation::Fault& fault) {
    ADD_FAILURE() << fault.what();
  }
  return counters;
}
template <int Dk, int Dv, class T, class Problem>
void expect_decode(Q8Case<T>& c, const Problem& p, index_t split_keys,
                   emulation::Schedule schedule = {}) {
  run_decode<Dk, Dv>(c, p, split_keys, schedule);
  c.compare();
}

template <class T, int Dk, int Dv>
void expect_width(index_t H, index_t Hv) {
  SCOPED_TRACE(testing::Message() << "H " << H << ", Hv " << Hv);
  Q8Case<T> c({2, 2, 300, 4, 2, H, Hv}, causal({300, 71}));
  expect_decode<Dk, Dv>(c, c.rows(CausalMask{}, NoScore{}), 128,
                        {H % 64 ? Copies::lazy : Copies::eager, 5});
}

TEST(Q8Decode, HeadWidths) {
  expect_width<bfloat16, 64, 64>(64, 64);
  expect_width<bfloat16, 64, 64>(48, 16);
  expect_width<bfloat16, 128, 128>(128, 128);
  expect_width<bfloat16, 128, 128>(80, 112);
  expect_width<bfloat16, 192, 128>(192, 96);
  expect_width<bfloat16, 192, 192>(144, 192);
  expect_width<bfloat16, 256, 256>(256, 240);
  expect_width<half, 64, 64>(64, 64);
  expect_width<half, 128, 128>(96, 128);
}

TEST(Q8Decode, SplitsAndSharedHeads) {
  for (const index_t split : {64, 192, 1024}) {
    Q8Case<half> c({3, 1, 520, 4, 1, 64, 64}, causal({520, 64, 65}));
    expect_decode<64, 64>(c, c.rows(CausalMask{}, NoScore{}), split,
                          {Copies::lazy, static_cast<std::uint64_t>(split)});
  }
  for (const index_t group : {1, 3, 20}) {
    Q8Case<bfloat16> c({1, 3, 130, group * 2, 2, 64, 64}, causal());
    expect_decode<64, 64>(c, c.rows(CausalMask{}, NoScore{}), 64);
  }
}

TEST(Q8Decode, PagesInAnyOrder) {
  for (const int log2_page : {0, 4, 7}) {
    Q8Case<bfloat16> c({3, 2, 400, 8, 2, 64, 64}, causal({400, 77, 2}));
    expect_decode<64, 64>(c, c.pages(CausalMask{}, NoScore{}, log2_page), 128,
                          {log2_page ? Copies::lazy : Copies::eager, 9});
  }
  Q8Case<half> wide({2, 1, 200, 8, 2, 128, 80}, causal({200, 130}));
  expect_decode<128, 128>(wide, wide.pages(CausalMask{}, NoScore{}, 4), 64);
}

TEST(Q8Decode, HeadsBeforeKeys) {
  Q8Case<bfloat16> c({2, 1, 200, 4, 2, 64, 80}, causal({200, 130}));
  auto p = c.rows(CausalMask{}, NoScore{});
  // The same numbers, a run of keys for every head.
  std::vector<std::int8_t> codes[2];
  std::vector<half> scales[2];
  const auto turned = [](const auto& x, auto& memory) {
    const index_t B = x.extent(0), S = x.extent(1), K = x.extent(2), n = x.extent(3);
    memory.resize(oracle::to_size(B * S * K * n));
    for (index_t i = 0; i < B * S * K * n; ++i)
      memory[oracle::to_size(i)] = x(i / (n * S * K), i / n % S, i / (n * S) % K, i % n);
    return std::remove_cvref_t<decltype(x)>(memory.data(), {B, S, K, n}, {K * S * n, n, S * n, 1});
  };
  p.kv.k = {turned(p.kv.k.codes, codes[0]), turned(p.kv.k.scales, scales[0])};
  p.kv.v = {turned(p.kv.v.codes, codes[1]), turned(p.kv.v.scales, scales[1])};
  expect_decode<128, 128>(c, p, 64);
}

TEST(Q8Decode, MasksScoresSinksAndScales) {
  const AttentionShape shape{2, 2, 300, 8, 2, 64, 64};
  oracle::AttentionOptions window = causal({300, 190});
  window.window = 70;
  window.scale = -0.2;
  window.sinks = {0.5, -30, 12, 0, 1, 2, 3, 4};
  Q8Case<bfloat16> sliding(shape, window);
  expect_decode<64, 64>(sliding, sliding.rows(SlidingWindow(70), NoScore{}), 128);

  const auto strayed = std::make_unique<bool>(false);
  oracle::AttentionOptions holes;
  holes.keep = [](index_t b, index_t h, index_t q, index_t k) {
    return cuda_test::Holes{}.keep(b, h, q, k);
  };
  Q8Case<bfloat16> own(shape, holes);
  expect_decode<64, 64>(own, own.rows(cuda_test::Holes{298, 300, 300, strayed.get()}, NoScore{}),
                        64);
  EXPECT_FALSE(*strayed) << "asked about a pair that does not exist";

  const std::vector<float> slopes = alibi_slopes(8);
  oracle::AttentionOptions scores = causal({300, 2});
  scores.softcap = 2;
  scores.alibi_slopes.assign(slopes.begin(), slopes.end());
  Q8Case<bfloat16> alibi(shape, scores);
  const VectorView<const float> view(slopes.data(), {8});
  expect_decode<64, 64>(alibi, alibi.rows(CausalMask{}, SoftCap(2.f) >> Alibi(view)), 128);
}

TEST(Q8Decode, BitsDoNotDependOnPagesOrSchedule) {
  Q8Case<bfloat16> c({1, 1, 300, 4, 2, 64, 64}, causal({300}));
  run_decode<64, 64>(c, c.rows(CausalMask{}, NoScore{}), 128);
  const auto bits = c.answer().out;
  run_decode<64, 64>(c, c.pages(CausalMask{}, NoScore{}, 4), 128, {Copies::eager, 11});
  EXPECT_TRUE(support::same_bits(c.answer().out, bits));
}

TEST(Q8Decode, HiddenKeysAreNotRead) {
  Q8Case<bfloat16> c({1, 1, 1024, 4, 1, 128, 64}, causal());
  const auto counters = run_decode<128, 128>(c, c.rows(SlidingWindow(16), NoScore{}), 256);
  // Queries for each of four splits, 16 pieces a row. Of the keys one step of 16 rows: pieces of 16
  // codes and words of two scales, for the padded widths.
  EXPECT_EQ(counters.copies, emulation::is_emulated ? 4u * 16 * 16 + 2 * 16 * (8 + 2) : 0u);
}

template <class T, class Problem>
void expect_fallback(Q8Case<T, float>& c, const Problem& p) {
  c.template expect_oracle<cuda::AttentionFallback<Problem>>(p, {Copies::lazy, 3});
}

TEST(Q8Fallback, AnyWidthAndElement) {
  for (const auto& [H, Hv] :
       std::vector<std::pair<index_t, index_t>>{{1, 1}, {7, 33}, {33, 5}, {64, 64}, {100, 70}}) {
    SCOPED_TRACE(testing::Message() << "H " << H << ", Hv " << Hv);
    Q8Case<float, float> c({2, 9, 37, 4, 2, H, Hv}, causal({37, 12}));
    expect_fallback(c, c.rows(CausalMask{}, NoScore{}, 1));
    expect_fallback(c, c.pages(CausalMask{}, NoScore{}, 2));
  }
  oracle::AttentionOptions window = causal();
  window.window = 20;
  window.softcap = 2;
  window.sinks = {1, -20};
  Q8Case<half, float> c({1, 40, 70, 2, 1, 36, 20}, window);
  expect_fallback(c, c.rows(SlidingWindow(20), SoftCap(2.f)));
}

TEST(Q8Fallback, AHiddenNanChangesNoBitAndAVisibleOneShows) {
  Q8Case<float, float> c({1, 40, 40, 2, 1, 24, 40}, causal());
  auto p = c.rows(CausalMask{}, NoScore{});
  using Kernel = cuda::AttentionFallback<decltype(p)>;
  expect_fallback(c, p);
  auto before = c.answer().out;
  const_cast<half&>(p.kv.v.scales(0, 25, 0, 1)) = half(NAN);  // of elements 32 to 39
  emulation::launch<Kernel>(p);
  const auto after = c.answer().out;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool shows = i >= 25u * 2 * 40 && i % 40 >= 32;
    EXPECT_TRUE(shows ? std::isnan(after[i]) : after[i] == before[i]) << i;
  }
}

/// The public functions choose the kernels.
template <class T, class Problem>
void call(const Problem& p, bool decode) {
  cuda_test::on_device(p, cuda::decode_workspace_bytes(p), [&](auto& ctx, const Problem& there) {
    auto options = there.options;
    options.scale = there.scale;
    if (decode)
      cuda::attention_decode_q8(ctx, there.q, there.kv, there.out, options);
    else
      cuda::attention_q8(ctx, there.q, there.kv, there.out, options);
  });
}

TEST(Q8Functions, MeetTheOracle) {
  Q8Case<bfloat16> decoded({2, 1, 600, 4, 2, 128, 128}, causal({600, 513}));
  call<bfloat16>(decoded.rows(CausalMask{}, NoScore{}), true);
  decoded.compare();
  call<bfloat16>(decoded.pages(CausalMask{}, NoScore{}, 5), true);
  decoded.compare();
  Q8Case<half, float> prompt({2, 20, 50, 4, 2, 64, 64}, causal({50, 33}));
  call<half>(prompt.rows(CausalMask{}, NoScore{}), false);
  prompt.compare();
  call<half>(prompt.pages(CausalMask{}, NoScore{}, 3), false);
  prompt.compare();
  Q8Case<half, float> narrow({2, 2, 50, 4, 2, 40, 64}, causal());  // no multiple of 16
  call<half>(narrow.rows(CausalMask{}, NoScore{}), true);
  narrow.compare();
}

TEST(Q8Functions, SayWhyThereAreNoTensorCores) {
  Q8Case<half> c({1, 1, 20, 2, 1, 64, 64}, {});
  auto p = c.rows(NoMask{}, NoScore{});
  EXPECT_TRUE(cuda::attention_route(p, 80).tensor_cores);
  p.kv.k.scales = p.kv.k.scales.slice(3, 1, 2);  // begins between two words
  EXPECT_EQ(cuda::attention_route(p, 80).reason, "rows do not begin at multiples of 16 bytes");
  Q8Case<half> narrow({1, 1, 20, 2, 1, 40, 64}, {});
  EXPECT_EQ(cuda::attention_route(narrow.rows(NoMask{}, NoScore{}), 80).reason,
            "a quantised head's elements are no multiple of 16");
}

TEST(Q8Functions, RefuseScalesAndPagesThatDoNotFit) {
  Q8Case<half> c({1, 1, 20, 2, 1, 96, 64}, {});
  const auto refused = [](auto p) {
    return support::message_of<ShapeError>(
        [&] { cuda::make_problem("op", p.q, p.kv, p.out, p.options); });
  };
  auto p = c.rows(NoMask{}, NoScore{});
  EXPECT_EQ(refused(p), "");
  p.kv.k.scales = p.kv.k.scales.slice(3, 0, 3);
  EXPECT_NE(refused(p).find("scales of k has shape"), std::string::npos) << refused(p);
  p = c.rows(NoMask{}, NoScore{});
  p.kv.v.codes = p.kv.v.codes.slice(1, 0, 19);
  EXPECT_NE(refused(p).find("v has an extent 1 of 19, expected that of k, 20"), std::string::npos)
      << refused(p);
  auto pages = c.pages(NoMask{}, NoScore{}, 3);
  EXPECT_EQ(refused(pages), "");
  pages.kv.log2_page = 4;
  EXPECT_NE(refused(pages).find("pages of k have 8 rows, log2_page is 4"), std::string::npos)
      << refused(pages);
}

}  // namespace
