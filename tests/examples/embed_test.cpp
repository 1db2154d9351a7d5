// Sentences to vectors, from text on: the published model where it is at hand.
#include <gtest/gtest.h>

#include <ashlar/models/presets/bert.hpp>
#include <ashlar/simd.hpp>
#include <cstdlib>

#include "embed/sentence_encoder.hpp"
#include "models/model_files.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::examples;

std::string minilm_folder() {
  if (const char* path = std::getenv("ASHLAR_MINILM"); path && *path) return path;
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "") + "/.cache/ashlar/all-MiniLM-L6-v2";
}

using models_test::TemporaryFolder;

TEST(SentencePooling, IsWhatTheFolderSays) {
  const TemporaryFolder folder;
  EXPECT_EQ(find_pooling(folder.path()), std::nullopt);
  std::filesystem::create_directory(folder / "1_Pooling");
  const auto with = [&](const std::string& config) {
    models_test::write_file(folder / "1_Pooling/config.json", config);
    return find_pooling(folder.path());
  };
  const auto error = [&](const std::string& config) {
    return build::error_of([&] { with(config); });
  };
  EXPECT_EQ(with(R"({"word_embedding_dimension": 384, "pooling_mode_cls_token": false,
                     "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false,
                     "pooling_mode_mean_sqrt_len_tokens": false})"),
            SentencePooling::mean);
  EXPECT_EQ(with(R"({"pooling_mode_cls_token": true})"), SentencePooling::first);
  EXPECT_EQ(with(R"({"pooling_mode_max_tokens": true})"), SentencePooling::max);
  EXPECT_EQ(with(R"({"pooling_mode_mean_tokens": false})"), SentencePooling::mean);
  EXPECT_EQ(with(R"({"pooling_mode": "cls", "embedding_dimension": 384})"), SentencePooling::first);
  EXPECT_EQ(with(R"({"pooling_mode": ["max"]})"), SentencePooling::max);
  EXPECT_TRUE(build::says(error(R"({"pooling_mode_lasttoken": true})"),
                          "1_Pooling/config.json: pooling_mode_lasttoken is \"lasttoken\", "
                          "supported: mean, cls, max"));
  EXPECT_TRUE(build::says(error(R"({"pooling_mode_mean_sqrt_len_tokens": true})"),
                          "pooling_mode_mean_sqrt_len_tokens is \"mean_sqrt_len\", supported"));
  EXPECT_TRUE(build::says(error(R"({"pooling_mode": "weightedmean"})"),
                          "pooling_mode is \"weightedmean\", supported: mean, cls, max"));
  EXPECT_TRUE(
      build::says(error(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})"),
                  "poolings cls_token and mean_tokens, supported: one of them"));

  // modules.json says which folder, and what else there is.
  with(R"({"pooling_mode": "mean"})");
  std::filesystem::create_directory(folder / "2_Other");
  models_test::write_file(folder / "2_Other/config.json", R"({"pooling_mode": "max"})");
  const auto modules = [&](const std::string& more) {
    models_test::write_file(
        folder / "modules.json",
        R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "2_Other", "type": "sentence_transformers.models.Pooling"}
            )" +
            more + "]");
    return find_pooling(folder.path());
  };
  EXPECT_EQ(modules(""), SentencePooling::max);
  EXPECT_EQ(modules(R"(, {"path": "3", "type": "sentence_transformers.models.Normalize"})"),
            SentencePooling::max);
  EXPECT_TRUE(
      build::says(build::error_of([&] {
                    modules(R"(, {"path": "3", "type": "sentence_transformers.models.Dense"})");
                  }),
                  "modules.json: type is \"sentence_transformers.models.Dense\", supported: "));
  EXPECT_NE(build::error_of([&] { modules(R"(, {"path": "3"})"); }), "");
  EXPECT_NE(build::error_of([&] { modules(R"(, {"path": "3", "type": "a.Pooling"})"); }), "");
}

/// A tiny BERT, and tokens [CLS] a b [SEP] and [CLS] c [SEP]: the vectors are those that the states
/// of a forward pass give.
TEST(SentenceEncoder, PoolsAsTheFolderSays) {
  const TemporaryFolder folder;
  models_test::Model model = models_test::Model::golden("../encoder/bert");
  model.write(folder.path());
  models_test::write_file(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n");
  models_test::write_file(folder / "tokenizer_config.json", R"({"do_lower_case": true})");
  const auto load = [&] {
    return load_text_encoder<backend::ScalarCpu, BertFamily>(Checkpoint(folder.path()), {},
                                                             [](index_t, index_t) {});
  };
  const std::vector<std::int32_t> ids{2, 5, 6, 3, 2, 7, 3, 0};
  const std::vector<index_t> lengths{4, 3};
  TokenBatch batch(2, 4);
  batch.set_lengths({lengths.data(), {2}});
  const auto lm = load();
  const index_t D = lm->info().d_model;
  std::vector<float> states(static_cast<std::size_t>(8 * D));
  lm->forward(batch, {ids.data(), {2, 4}}, {}, MatrixView<float>(states.data(), {8, D}));

  std::filesystem::create_directory(folder / "1_Pooling");
  for (const std::string mode : {"mean", "cls", "max"}) {
    models_test::write_file(folder / "1_Pooling/config.json",
                            R"({"pooling_mode": ")" + mode + "\"}");
    SentenceEncoder encoder(load(), folder.path());
    const std::vector<float> got = encoder.embed({"a b", "c"});
    std::vector<double> want;
    for (std::size_t b = 0; b < 2; ++b) {
      std::vector<double> row;
      double squares = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(D); ++i) {
        double sum = 0, most = -1e30, first = states[b * 4 * static_cast<std::size_t>(D) + i];
        for (std::size_t t = 0; t < static_cast<std::size_t>(lengths[b]); ++t) {
          const double x = states[(b * 4 + t) * static_cast<std::size_t>(D) + i];
          sum += x;
          most = std::max(most, x);
        }
        const double mean = sum / static_cast<double>(lengths[b]);
        row.push_back(mode == "mean" ? mean : mode == "cls" ? first : most);
        squares += row.back() * row.back();
      }
      for (const double x : row) want.push_back(x / std::sqrt(squares));
    }
    EXPECT_TRUE(support::all_close(got, want, 1e-6)) << mode;
  }
}

TEST(SentenceEncoder, GivesThePublishedModelsEmbeddings) {
  const std::string folder = minilm_folder();
  if (!ashlar::detail::can_open(folder + "/config.json"))
    GTEST_SKIP() << "set ASHLAR_MINILM to the folder of all-MiniLM-L6-v2";
  SentenceEncoder encoder(load_text_encoder<backend::SimdCpu, BertFamily>(Checkpoint(folder), {},
                                                                          [](index_t, index_t) {}),
                          folder);
  const SafetensorsFile file(std::string(ASHLAR_TEST_DATA) + "/real/minilm.safetensors");
  std::vector<std::string> texts;
  for (auto it = file.metadata().find("sentence0"); it != file.metadata().end();
       it = file.metadata().find("sentence" + std::to_string(texts.size())))
    texts.push_back(it->second);
  const TensorInfo& expected = file.at("embeddings");
  ASSERT_EQ(expected.shape[0], static_cast<index_t>(texts.size()));
  std::vector<float> want(static_cast<std::size_t>(expected.elements()));
  read_f32(expected, want);
  EXPECT_TRUE(support::all_close(encoder.embed(texts), want, 2e-6));
}

}  // namespace
