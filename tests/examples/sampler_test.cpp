// Sampling of the language-model example: which tokens stay, how often, and the same everywhere.
#include "common/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace {

using namespace ashlar::examples;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr SamplerOptions everything{
    .temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 42};

/// The probability of every token, 0 for those cut, straight from the definition: no sorting.
std::vector<long double> expected_probabilities(const std::vector<float>& logits,
                                                const SamplerOptions& options) {
  const std::size_t count = logits.size();
  std::vector<long double> p(count);
  const auto normalise = [&] {
    long double sum = 0;
    for (const long double x : p) sum += x;
    for (long double& x : p) x /= sum;
  };
  const auto ahead = [&](std::size_t a, std::size_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  for (std::size_t i = 0; i < count; ++i) {
    p[i] = std::exp(static_cast<long double>(logits[i]) / options.temperature);
    int rank = 0;
    for (std::size_t j = 0; j < count; ++j) rank += ahead(j, i);
    if (options.top_k != 0 && rank >= options.top_k) p[i] = 0;
  }
  normalise();
  const std::vector<long double> after_k = p;
  for (std::size_t i = 0; i < count; ++i) {
    long double before = 0;
    for (std::size_t j = 0; j < count; ++j) before += ahead(j, i) ? after_k[j] : 0;
    if (options.top_p != 1 && before >= options.top_p) p[i] = 0;
  }
  normalise();
  const long double best = *std::max_element(p.begin(), p.end());
  for (long double& x : p) x = x < options.min_p * best ? 0 : x;
  normalise();
  return p;
}

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const ashlar::ValueError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<int> draw(const SamplerOptions& options, const std::vector<float>& logits, int count) {
  Sampler sampler(options);
  std::vector<int> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(sampler(logits));
  return tokens;
}

TEST(SplitMix64, PublishedValues) {
  // The first outputs for seed 1234567, as given with many implementations.
  SplitMix64 random(1234567);
  for (const std::uint64_t value :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
        16408922859458223821u})
    EXPECT_EQ(random(), value);
  SplitMix64 unit(42);
  for (const double value : {0.7415648787718233, 0.1599103928769201, 0.27860113025513866})
    EXPECT_EQ(unit.uniform(), value);  // computed in Python
}

TEST(Sampler, TemperatureZeroTakesTheFirstLargest) {
  Sampler sampler({.temperature = 0});
  EXPECT_EQ(sampler(std::vector<float>{1, 5, -2, 5, 5}), 1);
  EXPECT_EQ(sampler(std::vector<float>{-3}), 0);
  EXPECT_EQ(sampler(std::vector<float>{-infinity, -7, -8}), 1);
  EXPECT_EQ(sampler(std::vector<float>{0, -0.0f, 0}), 0);
}

TEST(Sampler, KeepsWhatTheDefinitionKeeps) {
  support::Random random(4);
  SCOPED_TRACE(random.seed());
  const int top_ks[] = {0, 1, 2, 7, 40, 1000};
  const float top_ps[] = {0.01f, 0.3f, 0.7f, 0.95f, 1};
  const float min_ps[] = {0, 0.05f, 0.3f, 1};
  const float temperatures[] = {0.3f, 0.8f, 1, 2};
  std::size_t cut_by_p = 0;
  for (const int top_k : top_ks)
    for (const float top_p : top_ps)
      for (const float min_p : min_ps)
        for (const float temperature : temperatures) {
          const auto count = random.integer(1, 80);
          std::vector<float> logits = random.normals<float>(count, 3);
          // Ties, so that the order of equal logits matters.
          for (float& logit : logits)
            if (random.chance(0.3)) logit = std::round(logit);
          const SamplerOptions options{
              .temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p};
          const std::vector<long double> expected = expected_probabilities(logits, options);
          std::vector<double> got(logits.size(), 0.0);
          Sampler sampler(options);
          double last = 1;
          for (const Candidate& candidate : sampler.candidates(logits)) {
            got[static_cast<std::size_t>(candidate.token)] = candidate.probability;
            EXPECT_LE(candidate.probability, last);
            last = candidate.probability;
          }
          for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i] > 0, expected[i] > 0)
                << "token " << i << " of " << count << ", top_k " << top_k << ", top_p " << top_p
                << ", min_p " << min_p << ", temperature " << temperature;
            ASSERT_NEAR(got[i], static_cast<double>(expected[i]), 1e-12);
            cut_by_p += expected[i] == 0;
          }
        }
  EXPECT_GT(cut_by_p, 1000u);
}

TEST(Sampler, CutsByHand) {
  // Probabilities 1/2, 1/4, 1/8, 1/16, 1/16 in another order.
  const std::vector<float> logits = {std::log(4.0f), std::log(8.0f), 0.0f, std::log(2.0f), 0.0f};
  const auto kept = [&](SamplerOptions options) {
    Sampler sampler(options);
    std::vector<int> tokens;
    for (const Candidate& candidate : sampler.candidates(logits)) tokens.push_back(candidate.token);
    return tokens;
  };
  EXPECT_EQ(kept(everything), (std::vector{1, 0, 3, 2, 4}));
  EXPECT_EQ(kept({.temperature = 1, .top_k = 4, .top_p = 1, .min_p = 0}),
            (std::vector{1, 0, 3, 2}));
  EXPECT_EQ(kept({.temperature = 1, .top_k = 0, .top_p = 0.8f, .min_p = 0}),
            (std::vector{1, 0, 3}));
  EXPECT_EQ(kept({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0.2f}),
            (std::vector{1, 0, 3}));
  // top-p sees what top-k left: of 2/3 and 1/3 the first reaches 0.6 alone, of all five it does
  // not.
  EXPECT_EQ(kept({.temperature = 1, .top_k = 2, .top_p = 0.6f, .min_p = 0}), (std::vector{1}));
  EXPECT_EQ(kept({.temperature = 1, .top_k = 0, .top_p = 0.6f, .min_p = 0}), (std::vector{1, 0}));
  // The cuts see the probabilities after the temperature: 0.5 squares them.
  EXPECT_EQ(kept({.temperature = 0.5f, .top_k = 0, .top_p = 1, .min_p = 0.2f}),
            (std::vector{1, 0}));
}

TEST(Sampler, SameSeedSameTokens) {
  // Computed in Python from the definition; no draw lies within 0.001 of a boundary.
  const std::vector<float> logits = {0.25f, 1, 0.5f, 0};
  const std::vector<int> expected = {0, 1, 1, 1, 1, 3, 1, 0, 1, 2, 1, 2,
                                     2, 2, 0, 1, 1, 2, 1, 0, 3, 1, 2, 2};
  EXPECT_EQ(draw(everything, logits, static_cast<int>(expected.size())), expected);
  SamplerOptions other = everything;
  other.seed = 43;
  EXPECT_NE(draw(other, logits, 100), draw(everything, logits, 100));
  EXPECT_EQ(draw(other, logits, 100), draw(other, logits, 100));
}

TEST(Sampler, DrawsByProbability) {
  const std::vector<float> logits = {0, 2, 1, -1, 0.5f, -infinity, -200};
  SamplerOptions options = everything;
  options.temperature = 0.8f;
  const std::vector<long double> expected = expected_probabilities(logits, options);
  const int count = 200000;
  std::vector<int> seen(logits.size(), 0);
  for (const int token : draw(options, logits, count)) ++seen[static_cast<std::size_t>(token)];
  double chi_square = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const double mean = static_cast<double>(expected[i]) * count;
    chi_square += (seen[i] - mean) * (seen[i] - mean) / mean;
  }
  EXPECT_LT(chi_square, 18.5);  // 4 degrees of freedom: one seed in a thousand is above
  EXPECT_EQ(seen[5], 0);
  EXPECT_EQ(seen[6], 0);
}

TEST(Sampler, TinyTemperatureAndHugeLogits) {
  const std::vector<float> logits = {-1e30f, 3e38f, 2.9e38f};
  SamplerOptions options = everything;
  options.temperature = 1e-30f;
  EXPECT_EQ(draw(options, logits, 3), (std::vector{1, 1, 1}));
}

TEST(Sampler, Errors) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto option_error = [](SamplerOptions options) {
    return message_of([&] { Sampler{options}; });
  };
  EXPECT_EQ(option_error({.temperature = -1}), "temperature is -1, expected a finite number >= 0");
  EXPECT_EQ(option_error({.temperature = nan}),
            "temperature is nan, expected a finite number >= 0");
  EXPECT_EQ(option_error({.temperature = infinity}),
            "temperature is inf, expected a finite number >= 0");
  EXPECT_EQ(option_error({.top_k = -1}), "top_k is -1, expected 0 or more");
  EXPECT_EQ(option_error({.top_p = 0}), "top_p is 0, expected a number in (0, 1]");
  EXPECT_EQ(option_error({.top_p = 1.5f}), "top_p is 1.5, expected a number in (0, 1]");
  EXPECT_EQ(option_error({.top_p = nan}), "top_p is nan, expected a number in (0, 1]");
  EXPECT_EQ(option_error({.min_p = -0.5f}), "min_p is -0.5, expected a number in [0, 1]");
  EXPECT_EQ(option_error({.min_p = nan}), "min_p is nan, expected a number in [0, 1]");
  for (const float temperature : {0.0f, 1.0f}) {
    Sampler sampler({.temperature = temperature});
    const auto logit_error = [&](const std::vector<float>& logits) {
      return message_of([&] { sampler(logits); });
    };
    EXPECT_EQ(logit_error({}), "got no logits to sample from");
    EXPECT_EQ(logit_error({0, nan}), "logit 1 is nan, expected a finite number or -infinity");
    EXPECT_EQ(logit_error({infinity}), "logit 0 is inf, expected a finite number or -infinity");
    EXPECT_EQ(logit_error({-infinity, -infinity}), "all 2 logits are -infinity, no token is left");
  }
}

}  // namespace
