// What the program `perplexity` computes, against golden log-probabilities.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "common/gguf_tokenizer.hpp"
#include "common/open_model.hpp"
#include "common/perplexity_run.hpp"
#include "golden/model_case.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar::examples;
using ashlar::index_t;
using Ids = std::vector<std::int32_t>;

const auto no_progress = [](index_t, index_t) {};

TEST(Perplexity, OfKnownProbabilities) {
  const float logits[] = {std::log(1.0f), std::log(2.0f), std::log(5.0f)};
  EXPECT_NEAR(log_probability(logits, 1), std::log(0.25), 1e-7);
  const float huge[] = {-3e38f, 3e38f};
  EXPECT_EQ(log_probability(huge, 1), 0);
  const double values[] = {std::log(0.5), std::log(0.125)};
  EXPECT_NEAR(perplexity(values), 4, 1e-14);  // sqrt(2 * 8)
}

class Windows : public testing::Test {
 protected:
  /// log p of tokens [first, last) of the text, with nothing before `begin` seen.
  std::vector<double> expected(index_t begin, index_t first, index_t last) {
    const index_t V = model_->info().vocabulary;
    std::vector<double> result;
    Sequence sequence(*model_, last - begin);
    for (index_t t = begin; t + 1 < last; ++t) {
      const auto logits = sequence.push(ids_[static_cast<std::size_t>(t)]);
      if (t + 1 < first) continue;
      long double sum = 0;
      for (index_t v = 0; v < V; ++v)
        sum += std::exp(static_cast<long double>(logits[static_cast<std::size_t>(v)]));
      const auto target = static_cast<std::size_t>(ids_[static_cast<std::size_t>(t + 1)]);
      result.push_back(
          static_cast<double>(static_cast<long double>(logits[target]) - std::log(sum)));
    }
    return result;
  }
  std::vector<double> run(PerplexityOptions options) {
    return log_probabilities(*model_, ids_, options, no_progress);
  }
  void expect_parts(const PerplexityOptions& options,
                    const std::vector<std::vector<double>>& parts) {
    std::vector<double> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    EXPECT_TRUE(support::all_close(run(options), all, 1e-12));
  }

  const ashlar::Checkpoint checkpoint_{ASHLAR_TEST_DATA "/decoder/llama3"};
  RunningModel model_ = open_model(checkpoint_);  // its context is 64
  Ids ids_ = [] {
    Ids ids;
    for (int i = 0; i < 20; ++i) ids.push_back((i * 37 + 11) % 101);
    return ids;
  }();
};

TEST_F(Windows, ATokenOutsideTheVocabularyIsRefusedWhereverItStands) {
  for (const std::size_t at : {std::size_t{1}, std::size_t{8}, std::size_t{19}})
    for (const std::int32_t id : {-1, 101, 40000}) {
      Ids ids = ids_;
      ids[at] = id;
      EXPECT_THROW(log_probabilities(*model_, ids, {.context = 8}, no_progress),
                   ashlar::ValueError);
    }
}
TEST_F(Windows, OneHoldsAll) {
  expect_parts({}, {expected(0, 1, 20)});
  expect_parts({.context = 20}, {expected(0, 1, 20)});
  expect_parts({.context = 50, .stride = 30}, {expected(0, 1, 20)});
}
TEST_F(Windows, WithoutOverlapTheFirstOfEachDoesNotCount) {
  expect_parts({.context = 8}, {expected(0, 1, 8), expected(8, 9, 16), expected(16, 17, 20)});
  expect_parts({.context = 19}, {expected(0, 1, 19)});  // the last token stands alone
}
TEST_F(Windows, WithOverlapEachTokenCountsOnce) {
  expect_parts({.context = 8, .stride = 6},
               {expected(0, 1, 8), expected(6, 8, 14), expected(12, 14, 20)});
  expect_parts({.context = 8, .stride = 7},
               {expected(0, 1, 8), expected(7, 8, 15), expected(14, 15, 20)});
  EXPECT_EQ(run({.context = 5, .stride = 1}).size(), 19u);
}
TEST_F(Windows, LongerThanTheModelsContext) {
  ids_.resize(100, 7);
  expect_parts({}, {expected(0, 1, 64), expected(64, 65, 100)});
}
TEST_F(Windows, Refusals) {
  const auto error = [&](PerplexityOptions options) -> std::string {
    try {
      run(options);
    } catch (const ashlar::ValueError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error({.context = 65}),
            "context is 65, expected 2 to 64, or 0 for all that the model has");
  EXPECT_EQ(error({.context = 1}),
            "context is 1, expected 2 to 64, or 0 for all that the model has");
  EXPECT_EQ(error({.context = 8, .stride = 9}),
            "stride is 9, expected 1 to 8, or 0 for windows without overlap");
  ids_.resize(1);
  EXPECT_EQ(error({}), "the text has 1 tokens, expected at least 2");
  ids_.clear();
  EXPECT_EQ(error({}), "the text has 0 tokens, expected at least 2");
}

TEST(SmolLm2Perplexity, OfTheGoldenText) {
  const char* path = std::getenv("ASHLAR_SMOLLM2");
  if (!path) GTEST_SKIP() << "ASHLAR_SMOLLM2 does not name the model file";
  const ashlar::SafetensorsFile golden(ASHLAR_TEST_DATA "/real/smollm2.safetensors");
  const ashlar::Checkpoint checkpoint(path);
  const ByteLevelBpe tokenizer(read_bpe_vocabulary(*checkpoint.gguf()));
  const Ids ids =
      tokenizer.encode(golden.metadata().find("text")->second, {.parse_special = false});
  EXPECT_EQ(ids, golden::read_values<std::int32_t>(golden.at("text.input_ids")));

  // Twice in a row, so that it is more than is run at a time.
  Ids twice = ids;
  twice.insert(twice.end(), ids.begin(), ids.end());
  const RunningModel model = open_model(checkpoint, {.threads = 2});
  const auto all = log_probabilities(*model, twice, {}, no_progress);
  ASSERT_EQ(all.size(), twice.size() - 1);
  const auto got = std::span(all).first(ids.size() - 1);
  EXPECT_TRUE(support::all_close(
      got, golden::read_values<double>(golden.at("text.log_probabilities")), 1e-3));
  EXPECT_NEAR(perplexity(got), 48.708746, 5e-4);

  const std::size_t many = prompt_chunk + 64;
  ASSERT_LT(many, twice.size());
  Sequence sequence(*model, static_cast<index_t>(many));
  EXPECT_EQ(log_probability(sequence.push(std::span(twice).first(many)), twice[many]),
            all[many - 1]);
}

}  // namespace
