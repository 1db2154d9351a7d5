// One sequence on a language model: tokens in, logits of the next token out.
#pragma once

#include <algorithm>
#include <ashlar/models/language_model.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace ashlar::examples {

/// Tokens of a prompt that are run at a time: their memory is bounded, and the matrices are wide
/// enough. The results do not depend on it.
inline constexpr index_t prompt_chunk = 512;

/// Begins a new sequence on the model, which it uses alone.
class Sequence {
 public:
  /// Throws: ValueError for a capacity beyond the model's context.
  Sequence(LanguageModel& model, index_t capacity)
      : model_(model), logits_(static_cast<std::size_t>(model.info().vocabulary)) {
    model.start(1, capacity);
  }

  /// Runs the tokens after those before and gives the logits that follow the last one.
  ///
  /// Shapes: result [V], valid until the next call.
  /// Throws: ValueError for no tokens, for more than fit, and for ids outside the vocabulary.
  std::span<const float> push(std::span<const std::int32_t> tokens) {
    if (tokens.empty()) fail<ValueError>("got no tokens to run, expected at least 1");
    const index_t D = model_.info().d_model, count = static_cast<index_t>(tokens.size());
    index_t rows = 0;
    for (index_t at = 0; at < count; at += rows) {
      rows = (std::min)(prompt_chunk, count - at);
      hidden_.resize(static_cast<std::size_t>(rows * D));
      model_.forward({tokens.data() + at, {1, rows}}, {hidden_.data(), {rows, D}});
    }
    model_.head({hidden_.data() + (rows - 1) * D, {1, D}},
                {logits_.data(), {1, model_.info().vocabulary}});
    return logits_;
  }
  std::span<const float> push(std::int32_t token) { return push(std::span(&token, 1)); }

  index_t length() const { return model_.length(); }
  /// Forgets the tokens from position `length` on.
  void truncate(index_t length) { model_.truncate(length); }

 private:
  LanguageModel& model_;
  std::vector<float> hidden_, logits_;
};

}  // namespace ashlar::examples
