// Sentence embeddings of a published model, where it is at hand.
#pragma once

#include <ashlar/models/presets/bert.hpp>
#include <ashlar/models/text_encoder.hpp>
#include <filesystem>

#include "encoder_case.hpp"
#include "encoder_runs.hpp"
#include "real_case.hpp"

namespace golden {

/// The folder that the case's variable names, or the one that `run fetch minilm` fills.
inline std::string sentence_model(const RealCase& c) {
  try {
    return c.model();
  } catch (const Unsupported&) {
    const char* home = std::getenv("HOME");
    const std::string folder = std::string(home ? home : "") + "/.cache/ashlar/all-MiniLM-L6-v2";
    if (c.variable() != "ASHLAR_MINILM" || !std::filesystem::exists(folder + "/config.json")) throw;
    return folder;
  }
}

/// Means over the true tokens of a padded batch, of length 1.
inline Floats embed(ashlar::TextEncoder& encoder, const std::vector<Ids>& sentences,
                    Streams* streams = nullptr) {
  struct Observer final : ashlar::LayerObserver {
    Streams* streams = nullptr;
    void observe(index_t layer, ashlar::MatrixView<const float> x) override {
      if (streams) streams->observer()(layer, x);
    }
  } observer;
  observer.streams = streams;
  const auto count = static_cast<index_t>(sentences.size());
  const index_t D = encoder.info().d_model;
  Lengths lengths;
  for (const Ids& s : sentences) lengths.push_back(static_cast<index_t>(s.size()));
  const index_t T = *std::max_element(lengths.begin(), lengths.end());
  Ids padded(EncoderCase::at(count * T), 0);
  for (index_t b = 0; b < count; ++b)
    std::copy(sentences[EncoderCase::at(b)].begin(), sentences[EncoderCase::at(b)].end(),
              padded.begin() + b * T);
  ashlar::TokenBatch batch(count, T);
  batch.set_lengths({lengths.data(), {count}});
  Floats hidden = zeros(count * T, D), out = zeros(count, D);
  encoder.forward(batch, {padded.data(), {count, T}}, {}, matrix(hidden, count * T), &observer);
  ashlar::Context<ashlar::backend::ScalarCpu> ctx;
  mean_pool(ctx, batch, ashlar::MatrixView<const float>(matrix(hidden, count * T)),
            matrix(out, count));
  unit_length(ctx, matrix(out, count));
  return out;
}

template <class B>
void EncoderRuns<B>::sentences(const RealCase& c) {
  const auto encoder = ashlar::load_text_encoder<B, ashlar::BertFamily>(
      ashlar::Checkpoint(sentence_model(c)), {}, [](index_t, index_t) {});
  EXPECT_EQ(encoder->info().family, "bert");
  const index_t D = encoder->info().d_model;
  std::vector<Ids> sentences;
  while (c.has("sentence" + std::to_string(sentences.size()) + ".input_ids"))
    sentences.push_back(
        c.values<std::int32_t>("sentence" + std::to_string(sentences.size()) + ".input_ids"));
  ASSERT_GT(sentences.size(), 1u);
  const Floats got = embed(*encoder, sentences), expected = c.values<float>("embeddings");
  EXPECT_TRUE(support::all_close(got, expected, 2e-6)) << "embeddings";
  Floats cosine;
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (std::size_t j = 0; j < sentences.size(); ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < EncoderCase::at(D); ++k)
        sum += double{got[i * EncoderCase::at(D) + k]} * double{got[j * EncoderCase::at(D) + k]};
      cosine.push_back(static_cast<float>(sum));
    }
  EXPECT_TRUE(support::all_close(cosine, c.values<float>("cosine"), 1e-5)) << "cosine";

  // The first sentence by itself: its states, and the bits that it has in the padded batch.
  Streams streams;
  EXPECT_TRUE(support::same_bits(embed(*encoder, {sentences[0]}, &streams),
                                 Floats(got.begin(), got.begin() + D)));
  EXPECT_FALSE(c.has("sentence0.hidden_states." + std::to_string(streams.list.size())));
  for (std::size_t i = 0; i < streams.list.size(); ++i)
    EXPECT_TRUE(support::all_close_to_largest(
        streams.list[i], c.values<float>("sentence0.hidden_states." + std::to_string(i)), 2e-5))
        << "hidden_states " << i;
}

}  // namespace golden
