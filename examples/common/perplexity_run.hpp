// Log-probabilities of a text: the work of the program `perplexity`.
#pragma once

#include <algorithm>
#include <cmath>

#include "sequence.hpp"

namespace ashlar::examples {

struct PerplexityOptions {
  index_t context = 0;  ///< tokens of a window; 0: the model's context
  index_t stride = 0;   ///< tokens from one window to the next; 0: no overlap
};

/// log softmax(logits)[target], in double.
inline double log_probability(std::span<const float> logits, std::int32_t target) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - top);
  return double{logits[static_cast<std::size_t>(target)]} - top - std::log(sum);
}

/// exp of the mean of -log p.
inline double perplexity(std::span<const double> log_probabilities) {
  double sum = 0;
  for (const double value : log_probabilities) sum -= value;
  return std::exp(sum / static_cast<double>(log_probabilities.size()));
}

/// log p(token | the tokens before it) of each token that has one, in the order of the text.
///
/// A text longer than the context is cut into windows that begin `stride` tokens apart. Each token
/// counts once, in the first window that holds it. The first token of the text has no probability;
/// without overlap the first of every window has none.
///
/// `progress(done, total)` is told the tokens.
/// Throws: ValueError for fewer than 2 tokens, and for a context or stride outside its range.
template <class Progress>
std::vector<double> log_probabilities(LanguageModel& model, std::span<const std::int32_t> ids,
                                      const PerplexityOptions& options, Progress&& progress) {
  const index_t D = model.info().d_model, V = model.info().vocabulary;
  const index_t count = static_cast<index_t>(ids.size()), limit = model.info().context_length;
  if (count < 2) fail<ValueError>("the text has ", count, " tokens, expected at least 2");
  for (const std::int32_t id : ids)
    if (id < 0 || id >= V)
      fail<ValueError>("the text has token ", id, ", expected 0 to ", V - 1,
                       ", the model's vocabulary");
  const index_t most = limit > 0 ? limit : (std::max)(count, options.context);
  if (options.context < 0 || options.context == 1 || options.context > most)
    fail<ValueError>("context is ", options.context, ", expected 2 to ", most,
                     ", or 0 for all that the model has");
  const index_t context = options.context > 0 ? options.context : most;
  if (options.stride < 0 || options.stride > context)
    fail<ValueError>("stride is ", options.stride, ", expected 1 to ", context,
                     ", or 0 for windows without overlap");
  const index_t stride = options.stride > 0 ? options.stride : context;

  constexpr index_t head_rows = 32;  // logits are wide: few rows at a time
  std::vector<double> result;
  std::vector<float> hidden(static_cast<std::size_t>(prompt_chunk * D));
  std::vector<float> logits(static_cast<std::size_t>(head_rows * V));
  index_t scored = 1;  // tokens before this one have their probability, or never get one
  for (index_t begin = 0; scored < count; begin += stride) {
    const index_t end = (std::min)(begin + context, count);
    scored = (std::max)(scored, begin + 1);
    model.start(1, end - begin);
    for (index_t at = begin; at < end; at += prompt_chunk) {
      const index_t rows = (std::min)(prompt_chunk, end - at);
      model.forward({ids.data() + at, {1, rows}}, {hidden.data(), {rows, D}});
      // The row of token i holds the logits of token i + 1.
      const index_t stop = (std::min)(at + rows + 1, end);
      while (scored < stop) {
        const index_t m = (std::min)(head_rows, stop - scored);
        model.head({hidden.data() + (scored - 1 - at) * D, {m, D}}, {logits.data(), {m, V}});
        for (index_t i = 0; i < m; ++i)
          result.push_back(log_probability({logits.data() + i * V, static_cast<std::size_t>(V)},
                                           ids[static_cast<std::size_t>(scored + i)]));
        scored += m;
      }
      progress(scored, count);
    }
  }
  return result;
}

}  // namespace ashlar::examples
