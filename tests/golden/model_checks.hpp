// Golden models on one backend: logits, the stream into each layer, greedy tokens through the
// cache; and published models, where they are at hand.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/backend/thread_pool.hpp>

#include "../oracle/softmax.hpp"
#include "../support/compare.hpp"
#include "model_case.hpp"
#include "model_run.hpp"
#include "real_case.hpp"

namespace golden {

/// The prompt of a case in calls of `step` tokens gives these logits, and so does each sequence
/// without the others. With tolerance 0: their bits.
inline void expect_in_parts(const ModelCase& c, ashlar::LanguageModel& lm, const Ids& prompt,
                            const Floats& logits, double tolerance) {
  const index_t B = c.sequences(), T = c.tokens(), V = lm.info().vocabulary;
  const IdsView all(prompt.data(), {B, T});
  const auto expect_row = [&](const Floats& got, index_t m, const std::string& what) {
    const Floats want = row(logits, m, V);
    ASSERT_TRUE(tolerance == 0 ? support::same_bits(got, want)
                               : support::all_close(got, want, tolerance))
        << "row " << m << " of the logits, " << what;
  };
  const bool by_length = c.angles_depend_on_length();  // a shorter call has other ones
  for (const index_t step : {index_t{1}, index_t{7}}) {
    if (by_length) break;
    lm.start(B, T);
    for (index_t first = 0; first < T; first += step) {
      const index_t end = std::min(first + step, T), count = end - first;
      const Floats got = head(lm, forward(lm, all.slice(1, first, end)));
      for (index_t i = 0; i < B * count; ++i)
        expect_row(row(got, i, V), i / count * T + first + i % count,
                   "in calls of " + std::to_string(step));
    }
  }
  for (index_t b = 0; b < B; ++b) {
    lm.start(1, T);
    const Floats got = head(lm, forward(lm, all.slice(0, b, b + 1)));
    for (index_t t = 0; t < T; ++t) expect_row(row(got, t, V), b * T + t, "alone");
  }
}

/// Continues the prompt, whose logits are given, and does the first step twice.
inline void expect_greedy(const ModelCase& c, ashlar::LanguageModel& lm, const Floats& logits) {
  const Ids expected = c.expected<std::int32_t>("greedy");
  const index_t B = c.sequences(), T = c.tokens(), V = lm.info().vocabulary;
  const index_t count = static_cast<index_t>(expected.size()) / B;
  Ids next, got(expected.size());
  for (index_t b = 0; b < B; ++b) next.push_back(largest(row(logits, b * T + T - 1, V)));
  const auto step = [&] { return head(lm, forward(lm, IdsView(next.data(), {B, 1}))); };

  const Floats first = step();
  lm.truncate(T);
  EXPECT_EQ(lm.length(), T);
  for (index_t i = 0; i < count; ++i) {
    for (index_t b = 0; b < B; ++b)
      got[static_cast<std::size_t>(b * count + i)] = next[static_cast<std::size_t>(b)];
    const Floats after = step();
    if (i == 0) {
      EXPECT_TRUE(support::same_bits(after, first)) << "after truncate";
    }
    for (index_t b = 0; b < B; ++b) next[static_cast<std::size_t>(b)] = largest(row(after, b, V));
  }
  EXPECT_EQ(got, expected) << "greedy";
}

template <class B>
void model(const ModelCase& c) {
  if (!Families::contains(c.family())) {  // must say so, and nothing else
    try {
      Families::load<B>(c.folder());
    } catch (const ashlar::FileError& error) {
      if (c.config().find("model_type")) throw;
      throw Unsupported{error.what()};
    }
    FAIL() << "a family that is not in the list was loaded";
  }
  const auto lm = Families::load<B>(c.folder());
  EXPECT_EQ(lm->info().family, c.family());
  EXPECT_EQ(lm->info().backend, B::name);
  const index_t batch = c.sequences(), T = c.tokens();
  const index_t more = c.expected().at("greedy").shape.at(1);
  const Ids prompt = c.expected<std::int32_t>("input_ids");

  lm->start(batch, T + more);
  Layers layers;
  const Floats hidden = forward(*lm, IdsView(prompt.data(), {batch, T}), &layers);
  EXPECT_EQ(lm->length(), T);
  const Floats logits = head(*lm, hidden), expected = c.expected<float>("logits");
  const double tolerance =
      std::max(20 * c.metadata("f32_error"), 2e-5 * support::max_magnitude(expected));
  EXPECT_TRUE(support::all_close(logits, expected, tolerance)) << "logits";

  ASSERT_EQ(static_cast<index_t>(layers.streams.size()), lm->info().layers);
  const index_t D = lm->info().d_model;
  if (c.integer("word_embed_proj_dim", D) == D) layers.streams.push_back(hidden);  // else left out
  const Floats states = c.expected<float>("hidden_states");
  ASSERT_EQ(states.size(), layers.streams.size() * hidden.size());
  for (std::size_t i = 0; i < layers.streams.size(); ++i)
    EXPECT_TRUE(support::all_close_to_largest(
        layers.streams[i], row(states, static_cast<index_t>(i), batch * T * lm->info().d_model),
        std::max(2e-5, 20 * c.metadata("f32_error") / support::max_magnitude(expected))))
        << "hidden_states " << i;

  expect_greedy(c, *lm, logits);
  // Eigen's sums depend on the number of rows.
  expect_in_parts(c, *lm, prompt, logits, B::name == "eigen" ? tolerance : 0);
}

/// Prompt i of a published model: the last position, and `tokens` of the continuation.
inline void expect_prompt(const RealCase& c, ashlar::LanguageModel& lm, const std::string& prompt,
                          index_t tokens) {
  const Ids ids = c.values<std::int32_t>(prompt + ".input_ids");
  Ids continuation = c.values<std::int32_t>(prompt + ".continuation"), got;
  continuation.resize(static_cast<std::size_t>(tokens));
  const index_t T = static_cast<index_t>(ids.size()), D = lm.info().d_model;
  lm.start(1, T + tokens);
  Layers layers;
  const Floats hidden = forward(lm, IdsView(ids.data(), {1, T}), &layers);
  layers.streams.push_back(hidden);
  const Floats states = c.values<float>(prompt + ".last_hidden");
  ASSERT_EQ(states.size(), layers.streams.size() * static_cast<std::size_t>(D));
  for (std::size_t i = 0; i < layers.streams.size(); ++i)
    EXPECT_TRUE(support::all_close_to_largest(row(layers.streams[i], T - 1, D),
                                              row(states, static_cast<index_t>(i), D), 2e-5))
        << prompt << ".last_hidden " << i;

  Floats logits = head(lm, row(hidden, T - 1, D));
  if (c.has(prompt + ".logits")) {
    EXPECT_TRUE(support::all_close(logits, c.values<float>(prompt + ".logits"), 1e-3)) << prompt;
  }
  const Ids top_ids = c.values<std::int32_t>(prompt + ".top_ids");
  Ids order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top_ids.size()),
                    order.end(), [&](std::int32_t a, std::int32_t b) {
                      return logits[static_cast<std::size_t>(a)] >
                             logits[static_cast<std::size_t>(b)];
                    });
  order.resize(top_ids.size());
  EXPECT_EQ(order, top_ids) << prompt;
  const std::vector<double> exact(logits.begin(), logits.end());
  EXPECT_NEAR(oracle::log_sum_exp(exact.data(), static_cast<index_t>(exact.size())),
              c.values<double>(prompt + ".log_sum_exp").at(0), 1e-3)
      << prompt;
  for (index_t i = 0; i < tokens; ++i) {
    got.push_back(largest(logits));
    logits = head(lm, forward(lm, IdsView(&got.back(), {1, 1})));
  }
  EXPECT_EQ(got, continuation) << prompt;
}

/// The log-probability of every token of a text after those before it, and the perplexity.
inline void expect_text(const RealCase& c, ashlar::LanguageModel& lm) {
  const Ids ids = c.values<std::int32_t>("text.input_ids");
  const auto T = static_cast<index_t>(ids.size());
  lm.start(1, T);
  const Floats logits = head(lm, forward(lm, IdsView(ids.data(), {1, T})));
  std::vector<double> got;
  double sum = 0;
  for (index_t t = 0; t + 1 < T; ++t) {
    const Floats after = row(logits, t, lm.info().vocabulary);
    const std::vector<double> exact(after.begin(), after.end());
    got.push_back(exact.at(static_cast<std::size_t>(ids[static_cast<std::size_t>(t + 1)])) -
                  oracle::log_sum_exp(exact.data(), static_cast<index_t>(exact.size())));
    sum -= got.back();
  }
  EXPECT_TRUE(support::all_close(got, c.values<double>("text.log_probabilities"), 1e-3));
  const double perplexity = c.metadata("perplexity");
  EXPECT_NEAR(std::exp(sum / static_cast<double>(got.size())), perplexity, 1e-3 * perplexity);
}

/// The published model of a case, if it is a language model of a known family.
template <class B>
std::unique_ptr<ashlar::LanguageModel> load_real(const RealCase& c,
                                                 ashlar::Executor executor = {}) {
  const std::string path = c.model();
  if (!c.has("prompt0.input_ids")) throw Unsupported{"it has no prompts for a language model"};
  const std::string family = ashlar::Checkpoint(path).family();
  if (!Families::contains(family)) throw Unsupported{"family " + family + " is not there yet"};
  return Families::load<B>(path, executor);
}

/// Everything about a published model, on two threads.
template <class B>
void real_model(const RealCase& c) {
  ashlar::ThreadPool pool(2);
  const auto lm = load_real<B>(c, pool.executor());
  int prompts = 0;
  for (; c.has("prompt" + std::to_string(prompts) + ".input_ids"); ++prompts) {
    const std::string prompt = "prompt" + std::to_string(prompts);
    expect_prompt(c, *lm, prompt,
                  static_cast<index_t>(c.values<float>(prompt + ".continuation").size()));
  }
  EXPECT_GT(prompts, 0);
  expect_text(c, *lm);
}

/// The first prompt without its continuation: for a backend that takes its time.
template <class B>
void real_first_prompt(const RealCase& c) {
  const auto lm = load_real<B>(c);
  expect_prompt(c, *lm, "prompt0", 0);
}

}  // namespace golden
