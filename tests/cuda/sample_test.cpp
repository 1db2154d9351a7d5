// Sampling on the emulated device, against a sort on the host and the probabilities in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <ashlar/cuda/sample_rows.hpp>
#include <cmath>
#include <numeric>

#include "row_case.hpp"

namespace {

using namespace ashlar;
using cuda::SampleOptions;
using cuda_test::Channels, cuda_test::Rows;
using oracle::to_size;
__extension__ using Wide = unsigned __int128;

/// Tokens that may be drawn, in order, with their weights: by sorting, from the words of
/// SampleOptions.
struct Kept {
  std::vector<std::int32_t> tokens;
  std::vector<std::uint64_t> weights;

  Kept(const std::vector<float>& logits, const SampleOptions& o) {
    std::vector<std::int32_t> order;
    for (std::size_t i = 0; i < logits.size(); ++i)
      if (logits[i] > -HUGE_VALF) order.push_back(static_cast<std::int32_t>(i));
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return logits[to_size(a)] > logits[to_size(b)];
    });
    if (order.empty()) return;
    if (o.temperature == 0) order.resize(1);
    if (o.top_k > 0) order.resize(std::min(order.size(), to_size(o.top_k)));
    std::uint64_t sum = 0;
    for (const std::int32_t t : order) {
      const std::uint64_t w =
          o.temperature == 0
              ? 1
              : cuda::sample_weight(logits[to_size(t)], logits[to_size(order[0])], o.temperature);
      if (w == 0) break;  // nor have those behind it any
      tokens.push_back(t);
      weights.push_back(w);
      sum += w;
    }
    if (o.top_p < 1) {
      const std::uint64_t wanted = cuda::weight_of_share(sum, o.top_p);
      std::size_t n = 0;
      for (std::uint64_t reached = 0; reached < wanted; ++n) reached += weights[n];
      resize(n);
    }
    while (static_cast<double>(weights.back()) <
           static_cast<double>(o.min_p) * static_cast<double>(weights[0]))
      resize(tokens.size() - 1);
  }
  void resize(std::size_t n) {
    tokens.resize(n);
    weights.resize(n);
  }
  std::int32_t draw(std::uint64_t random) const {
    if (tokens.empty()) return -1;
    std::uint64_t rest =
        random_below(random, std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    for (std::size_t i = 0;; ++i) {
      if (rest < weights[i]) return tokens[i];
      rest -= weights[i];
    }
  }
};

template <class T, int Warps>
std::vector<std::int32_t> sample(const std::vector<std::vector<T>>& logits,
                                 const std::vector<SampleOptions>& options,
                                 const std::vector<std::uint64_t>& steps, index_t gap = 3,
                                 std::uint64_t seed = 1) {
  const auto rows = static_cast<index_t>(logits.size());
  std::vector<T> all;
  for (const auto& row : logits) all.insert(all.end(), row.begin(), row.end());
  Rows<T> x(rows, static_cast<index_t>(logits[0].size()), gap, all);
  const Channels<SampleOptions> o(options);
  const Channels<std::uint64_t> s(steps);
  std::vector<std::int32_t> tokens(logits.size(), -7);
  emulation::launch<cuda::SampleRows<T, Warps>>(
      {x.in(), o.view(), s.view(), VectorView<std::int32_t>(tokens.data(), {rows})}, {{}, seed});
  return tokens;
}

template <class T>
std::vector<float> floats(const std::vector<T>& v) {
  return std::vector<float>(v.begin(), v.end());
}
const SampleOptions every_option[] = {
    {0.f, 1.f, 0.f, 0, 1},        {1.f, 1.f, 0.f, 0, 2},      {0.7f, 1.f, 0.f, 40, 3},
    {1.f, 0.9f, 0.f, 0, 4},       {1.3f, 1.f, 0.05f, 0, 5},   {0.8f, 0.95f, 0.02f, 50, 6},
    {2.f, 0.5f, 0.f, 7, 7},       {1.f, 1.f, 0.f, 1, 8},      {1.f, 1e-6f, 0.f, 0, 9},
    {1.f, 1.f, 1.f, 0, 10},       {50.f, 0.999f, 0.f, 0, 11}, {1e-3f, 1.f, 0.f, 0, 12},
    {1.f, 1.f, 0.f, 1 << 20, 13}, {0.5f, 0.8f, 0.3f, 3, 14},  {30.f, 0.9f, 0.f, 2500, 15}};

/// Rows of one distribution under every option, at several steps.
template <class T, int Warps>
void expect_the_sorts_tokens(const std::vector<T>& logits, std::uint64_t steps, index_t gap = 3) {
  std::vector<std::vector<T>> rows;
  std::vector<SampleOptions> options;
  std::vector<std::uint64_t> at;
  std::vector<std::int32_t> expected;
  for (const SampleOptions& o : every_option) {
    const Kept kept(floats(logits), o);
    for (std::uint64_t step = 0; step < steps; ++step) {
      rows.push_back(logits);
      options.push_back(o);
      at.push_back(step + (step % 2 << 33));
      expected.push_back(kept.draw(counter_random(o.seed, at.back())));
    }
  }
  EXPECT_EQ((sample<T, Warps>(rows, options, at, gap)), expected);
}

TEST(CounterRandom, AnswersOfTheAuthors) {
  // The known answers that come with the Random123 library.
  const auto expect = [](Philox counter, std::uint32_t key0, std::uint32_t key1, Philox expected) {
    const Philox got = Philox::at(counter, key0, key1);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], expected.word[i]) << i;
  };
  expect({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
  expect({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u, {{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
  expect({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u,
         {{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
}

TEST(CounterRandom, BelowIsTheUpperHalfOfTheProduct) {
  support::Random random(1);
  const auto bits = [&] {
    return static_cast<std::uint64_t>(random.unit() * 0x1p53) << 11 ^
           static_cast<std::uint64_t>(random.unit() * 0x1p53);
  };
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t r = bits(), n = bits() >> (i % 60);
    EXPECT_EQ(random_below(r, n), static_cast<std::uint64_t>((Wide{r} * n) >> 64));
  }
}

TEST(SampleRows, DrawWhatASortDraws) {
  for (const index_t width : {1, 2, 7, 31, 300, 3000}) {
    SCOPED_TRACE(width);
    support::Random random(static_cast<std::uint64_t>(width));
    expect_the_sorts_tokens<float, 2>(cuda_test::numbers<float>(random, width, 4), 3);
    expect_the_sorts_tokens<bfloat16, 2>(cuda_test::numbers<bfloat16>(random, width, 3), 2, 8);
    expect_the_sorts_tokens<half, 4>(cuda_test::numbers<half>(random, width, 3), 2, 0);
  }
}

TEST(SampleRows, EqualLogitsRankByToken) {
  // More equal ones than the list holds, of two values, and all of one value.
  std::vector<float> two(5000);
  for (std::size_t i = 0; i < two.size(); ++i) two[i] = i * 7 % 3 == 0 ? 1.5f : -0.25f;
  expect_the_sorts_tokens<float, 4>(two, 3);
  expect_the_sorts_tokens<float, 2>(std::vector<float>(4099, -3.f), 2);
  std::vector<float> zeros(300);
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = i % 2 ? 0.f : -0.f;
  expect_the_sorts_tokens<float, 2>(zeros, 2);
}

TEST(SampleRows, ForbiddenTokensAreNeverDrawn) {
  support::Random random(9);
  auto logits = cuda_test::numbers<float>(random, 500, 2);
  for (std::size_t i = 0; i < 500; ++i)
    if (i % 5 != 2) logits[i] = i % 2 ? -HUGE_VALF : std::nanf("");
  auto expected = logits;
  for (float& x : expected)
    if (std::isnan(x)) x = -HUGE_VALF;
  for (const SampleOptions& o : every_option) {
    const Kept kept(expected, o);
    EXPECT_EQ((sample<float, 2>({logits}, {o}, {5}))[0], kept.draw(counter_random(o.seed, 5)));
  }
  const std::vector<float> nothing(100, -HUGE_VALF), nan(100, std::nanf(""));
  EXPECT_EQ((sample<float, 2>({nothing, nan}, {every_option[0], every_option[3]}, {0, 0})),
            (std::vector<std::int32_t>{-1, -1}));
}

TEST(SampleRows, TheLargestVocabulary) {
  support::Random random(11);
  auto logits = cuda_test::numbers<bfloat16>(random, 262144, 3);
  logits[262143] = logits[17] = bfloat16(40.f);
  const SampleOptions greedy{0.f, 1.f, 0.f, 0, 1}, chat{0.8f, 0.95f, 0.02f, 50, 2},
      flat{20.f, 0.97f, 0.f, 0, 3};
  const std::vector<SampleOptions> options = {greedy, chat, flat};
  std::vector<std::int32_t> expected;
  for (const SampleOptions& o : options)
    expected.push_back(Kept(floats(logits), o).draw(counter_random(o.seed, 77)));
  EXPECT_EQ(expected[0], 17);
  EXPECT_EQ((sample<bfloat16, 8>({logits, logits, logits}, options, {77, 77, 77}, 0)), expected);
}

TEST(SampleRows, FrequenciesAreTheProbabilities) {
  // chi-squared of the sort's draws, by softmax in double; the device's are the same.
  support::Random random(13);
  const auto logits = cuda_test::numbers<float>(random, 40, 1.5);
  const SampleOptions o{0.9f, 0.9f, 0.01f, 20, 99};
  const Kept kept(logits, o);
  const std::size_t draws = 20000, on_device = 50;
  std::vector<std::uint64_t> steps(draws);
  std::iota(steps.begin(), steps.end(), std::uint64_t{0});
  std::vector<std::int32_t> tokens;
  for (const std::uint64_t step : steps) tokens.push_back(kept.draw(counter_random(o.seed, step)));
  steps.resize(on_device);
  EXPECT_EQ((sample<float, 1>(std::vector<std::vector<float>>(on_device, logits),
                              std::vector<SampleOptions>(on_device, o), steps)),
            std::vector<std::int32_t>(tokens.begin(), tokens.begin() + on_device));
  double whole = 0, chi = 0;
  const auto weight = [&](std::int32_t t) {
    return std::exp(static_cast<double>(logits[to_size(t)]) / static_cast<double>(o.temperature));
  };
  for (const std::int32_t t : kept.tokens) whole += weight(t);
  std::ptrdiff_t found = 0;
  for (const std::int32_t t : kept.tokens) {
    const double expected = static_cast<double>(draws) * weight(t) / whole;
    const auto n = std::count(tokens.begin(), tokens.end(), t);
    found += n;
    chi += (static_cast<double>(n) - expected) * (static_cast<double>(n) - expected) / expected;
  }
  EXPECT_EQ(found, static_cast<std::ptrdiff_t>(draws));
  const auto freedom = static_cast<double>(kept.tokens.size() - 1);
  EXPECT_GE(kept.tokens.size(), 5u);
  EXPECT_LT(chi, freedom + 5 * std::sqrt(2 * freedom));
}

TEST(SampleRows, TheCutsAreThoseOfProbabilitiesInDouble) {
  support::Random random(15);
  const auto logits = cuda_test::numbers<float>(random, 200, 2);
  std::vector<std::int32_t> order(200);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[to_size(a)] > logits[to_size(b)];
  });
  const SampleOptions o{0.8f, 0.83f, 0.03f, 60, 0};
  std::vector<double> p;
  for (int i = 0; i < o.top_k; ++i)
    p.push_back(std::exp(
        static_cast<double>(logits[to_size(order[to_size(i)])] - logits[to_size(order[0])]) /
        static_cast<double>(o.temperature)));
  const double whole = std::accumulate(p.begin(), p.end(), 0.0);
  std::size_t n = 0;
  for (double sum = 0; sum < static_cast<double>(o.top_p) * whole; ++n) sum += p[n];
  while (p[n - 1] < static_cast<double>(o.min_p)) --n;
  order.resize(n);
  EXPECT_EQ(Kept(logits, o).tokens, order);
}

TEST(SampleRows, TokensDependOnNeitherScheduleNorBatchNorThreads) {
  support::Random random(17);
  const auto a = cuda_test::numbers<float>(random, 3000, 2);
  const auto b = cuda_test::numbers<float>(random, 3000, 2);
  const SampleOptions o{1.f, 0.9f, 0.f, 0, 5};
  const auto alone = sample<float, 2>({a}, {o}, {123}, 3, 1);
  EXPECT_EQ((sample<float, 4>({a}, {o}, {123}, 0, 2)), alone);
  EXPECT_EQ((sample<float, 8>({b, a}, {o, o}, {7, 123}, 1, 3))[1], alone[0]);
}

}  // namespace
