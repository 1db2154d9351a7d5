// Texts to vectors of length 1 whose products say how alike the texts are.
#pragma once

#include <algorithm>
#include <ashlar/models/text_encoder.hpp>
#include <ashlar/nn/head/pooling.hpp>
#include <memory>
#include <string>
#include <vector>

#include "common/word_piece_files.hpp"
#include "sentence_pooling.hpp"

namespace ashlar::examples {

/// A BERT folder with its tokenizer.
class SentenceEncoder {
 public:
  /// Without a pooling: what the folder says of it, else the mean. max_tokens 0: what
  /// sentence_bert_config.json says, else all that the model was made for.
  SentenceEncoder(std::unique_ptr<TextEncoder> model, const std::string& folder,
                  std::optional<SentencePooling> pooling = {}, index_t max_tokens = 0)
      : model_(std::move(model)), tokenizer_(read_word_piece(folder)) {
    if (!pooling) pooling = find_pooling(folder);
    pooling_ = pooling.value_or(SentencePooling::mean);
    index_t most = model_->info().context_length;
    const std::string path = folder + "/sentence_bert_config.json";
    if (ashlar::detail::can_open(path))
      most = std::min(most, ConfigReader(path).size("max_seq_length", most, 2));
    max_tokens_ = max_tokens ? std::min(max_tokens, most) : most;
  }

  SentencePooling pooling() const { return pooling_; }
  index_t width() const { return model_->info().d_model; }

  /// Rows [texts, width()], computed in one batch. Longer texts are cut.
  std::vector<float> embed(const std::vector<std::string>& texts) {
    const auto count = static_cast<index_t>(texts.size());
    std::vector<std::vector<std::int32_t>> ids;
    std::vector<index_t> lengths;
    for (const std::string& text : texts) {
      ids.push_back(tokenizer_.encode(
          text, {.max_tokens = static_cast<std::size_t>(max_tokens_), .parse_special = false}));
      lengths.push_back(static_cast<index_t>(ids.back().size()));
    }
    const index_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<std::int32_t> padded(static_cast<std::size_t>(count * longest), 0);
    for (index_t b = 0; b < count; ++b)
      std::copy(ids[static_cast<std::size_t>(b)].begin(), ids[static_cast<std::size_t>(b)].end(),
                padded.begin() + b * longest);

    TokenBatch batch(count, longest);
    batch.set_lengths({lengths.data(), {count}});
    std::vector<float> hidden(static_cast<std::size_t>(batch.rows() * width()));
    std::vector<float> vectors(static_cast<std::size_t>(count * width()));
    const MatrixView<float> states(hidden.data(), {batch.rows(), width()}),
        out(vectors.data(), {count, width()});
    model_->forward(batch, {padded.data(), {count, longest}}, {}, states);
    Context<backend::ScalarCpu> ctx;
    if (pooling_ == SentencePooling::mean)
      mean_pool(ctx, batch, MatrixView<const float>(states), out);
    else if (pooling_ == SentencePooling::max)
      max_pool(ctx, batch, MatrixView<const float>(states), out);
    else
      NoNorm::apply(ctx, {}, {}, MatrixView<const float>(first_rows(batch, states)), out);
    unit_length(ctx, out);
    return vectors;
  }

 private:
  std::unique_ptr<TextEncoder> model_;
  WordPiece tokenizer_;
  SentencePooling pooling_ = SentencePooling::mean;
  index_t max_tokens_ = 0;
};

}  // namespace ashlar::examples
