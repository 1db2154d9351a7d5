// Sentences to vectors, from text on: the published model where it is at hand.
#include <gtest/gtest.h>

#include <ashlar/models/presets/bert.hpp>
#include <ashlar/simd.hpp>
#include <cstdlib>

#include "embed/sentence_encoder.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::examples;

std::string minilm_folder() {
  if (const char* path = std::getenv("ASHLAR_MINILM"); path && *path) return path;
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "") + "/.cache/ashlar/all-MiniLM-L6-v2";
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
