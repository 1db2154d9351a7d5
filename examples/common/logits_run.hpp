// Logits of given tokens under a causal language model: the work of the program `logits`.
#pragma once

#include <algorithm>
#include <ashlar/models/language_model.hpp>
#include <ashlar/weights/safetensors_writer.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "token_table.hpp"

namespace ashlar::examples {

struct LogitsOptions {
  bool hidden = false;  ///< keep what enters each layer
  index_t greedy = 0;   ///< tokens to continue each sequence with
};

struct LogitsResult {
  index_t batch = 0, length = 0, vocabulary = 0, d_model = 0, layers = 0;
  std::vector<float> logits;         ///< [B, T, V]
  std::vector<float> hidden_states;  ///< [L + 1, B, T, D], if asked for; the last after the norm
  std::vector<std::int64_t> greedy;  ///< [B, N]
  index_t greedy_length = 0;
};

/// Index of the first largest value.
inline std::int32_t arg_max(std::span<const float> values) {
  return static_cast<std::int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

namespace detail {
/// Keeps what enters each layer.
struct StreamRecorder final : LayerObserver {
  std::vector<float>* rows = nullptr;
  void observe(index_t, MatrixView<const float> x) override {
    for (index_t m = 0; m < x.extent(0); ++m)
      rows->insert(rows->end(), &x(m, 0), &x(m, 0) + x.extent(1));
  }
};
}  // namespace detail

/// The N best tokens after those that a model just ran, one at a time with its cache.
/// Shapes: logits [B, T, V] of the tokens that it ran; result [B, N].
template <class Model>
std::vector<std::int64_t> continue_greedily(Model& model, std::span<const float> logits, index_t B,
                                            index_t N) {
  const index_t D = model.info().d_model, V = model.info().vocabulary;
  const auto elements = [](auto... extents) { return static_cast<std::size_t>((extents * ...)); };
  std::vector<std::int64_t> best(elements(B, N));
  std::vector<float> hidden(elements(B, D)), step(elements(B, V));
  std::vector<std::int32_t> next(elements(B));
  std::size_t each = logits.size() / elements(B);  // of a sequence
  for (index_t n = 0; n < N; ++n) {
    if (n > 0) {
      model.forward({next.data(), {B, 1}}, {hidden.data(), {B, D}});
      model.head({hidden.data(), {B, D}}, {step.data(), {B, V}});
      logits = step;
      each = elements(V);
    }
    for (index_t b = 0; b < B; ++b) {
      const std::int32_t id = arg_max(logits.subspan(elements(b) * each, each).last(elements(V)));
      next[elements(b)] = id;
      best[elements(b * N + n)] = id;
    }
  }
  return best;
}

/// Runs the tokens in one call, then continues them one token at a time with the cache.
/// Throws: ValueError for tokens beyond the model's context or vocabulary, or of several lengths.
inline LogitsResult run_logits(LanguageModel& model, const TokenTable& tokens,
                               const LogitsOptions& options = {}) {
  expect_equal_lengths(tokens);
  const LanguageModelInfo& info = model.info();
  const index_t B = tokens.batch, T = tokens.length, D = info.d_model, V = info.vocabulary;
  const auto elements = [](auto... extents) { return static_cast<std::size_t>((extents * ...)); };
  LogitsResult result{B, T, V, D, info.layers, {}, {}, {}, options.greedy};

  detail::StreamRecorder recorder;
  recorder.rows = &result.hidden_states;

  model.start(B, T + (std::max)(options.greedy - 1, index_t{0}));
  std::vector<float> hidden(elements(B, T, D));
  model.forward({tokens.ids.data(), {B, T}}, {hidden.data(), {B * T, D}},
                options.hidden ? &recorder : nullptr);
  if (options.hidden)
    result.hidden_states.insert(result.hidden_states.end(), hidden.begin(), hidden.end());
  result.logits.resize(elements(B, T, V));
  model.head({hidden.data(), {B * T, D}}, {result.logits.data(), {B * T, V}});

  result.greedy = continue_greedily(model, result.logits, B, options.greedy);
  return result;
}

/// Writes `logits`, and `hidden_states` and `greedy` if there are any.
/// Throws: FileError.
inline void write_logits(const std::string& path, const LogitsResult& r,
                         const SafetensorsMetadata& metadata) {
  std::vector<TensorInfo> tensors;
  tensors.push_back(describe_tensor<float>("logits", {r.batch, r.length, r.vocabulary}, r.logits));
  if (!r.hidden_states.empty())
    tensors.push_back(describe_tensor<float>(
        "hidden_states", {r.layers + 1, r.batch, r.length, r.d_model}, r.hidden_states));
  if (!r.greedy.empty())
    tensors.push_back(
        describe_tensor<std::int64_t>("greedy", {r.batch, r.greedy_length}, r.greedy));
  write_safetensors(path, tensors, metadata);
}

/// 64-bit FNV-1a over the bits: two runs print the same number exactly when they gave the same
/// bits.
inline std::uint64_t hash_bits(std::span<const float> values) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const std::byte byte : std::as_bytes(values)) {
    hash ^= static_cast<std::uint64_t>(byte);
    hash *= 0x100000001B3u;
  }
  return hash;
}

}  // namespace ashlar::examples
