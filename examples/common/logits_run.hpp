// Logits of given tokens, and what leads to them: the work of the program `logits`.
#pragma once

#include <algorithm>
#include <ashlar/models/text_encoder.hpp>
#include <ashlar/weights/safetensors_writer.hpp>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::examples {

/// Sequences of equal length.
struct TokenTable {
  index_t batch = 0, length = 0;
  std::vector<std::int32_t> ids;  ///< [B, T]
};

/// Reads "1,2,3;4,5,6": ids separated by commas, sequences by semicolons.
/// Throws: ValueError that names the item.
inline TokenTable parse_tokens(std::string_view text) {
  TokenTable table;
  const auto next = [](std::string_view& rest, char end) {
    const std::size_t at = (std::min)(rest.find(end), rest.size());
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix((std::min)(at + 1, rest.size()));
    return part;
  };
  const auto count = [](std::string_view list, char separator) {
    return static_cast<index_t>(std::count(list.begin(), list.end(), separator)) + 1;
  };
  table.batch = count(text, ';');
  for (index_t b = 0; b < table.batch; ++b) {
    std::string_view list = next(text, ';');
    const std::string name = join("tokens of sequence ", b + 1);
    if (list.empty()) fail<ValueError>(name, ": got none, expected at least 1");
    const index_t length = count(list, ',');
    if (b > 0 && length != table.length)
      fail<ValueError>(name, ": got ", length, ", expected ", table.length,
                       " as in the first sequence");
    table.length = length;
    for (index_t t = 0; t < length; ++t) {
      const std::string_view item = next(list, ',');
      std::int32_t id = -1;
      const auto [end, problem] = std::from_chars(item.data(), item.data() + item.size(), id);
      if (problem != std::errc() || end != item.data() + item.size() || id < 0)
        fail<ValueError>(name, ": item ", t + 1, " is \"", item, "\", expected a token id");
      table.ids.push_back(id);
    }
  }
  return table;
}

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

/// Runs the tokens in one call, then continues them one token at a time with the cache.
/// Throws: ValueError for tokens beyond the model's context or vocabulary.
inline LogitsResult run_logits(LanguageModel& model, const TokenTable& tokens,
                               const LogitsOptions& options = {}) {
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

  result.greedy.resize(elements(B, options.greedy));
  std::vector<float> logits(elements(B, V));
  std::vector<std::int32_t> next(elements(B));
  hidden.resize(elements(B, D));
  for (index_t n = 0; n < options.greedy; ++n) {
    if (n > 0) {
      model.forward({next.data(), {B, 1}}, {hidden.data(), {B, D}});
      model.head({hidden.data(), {B, D}}, {logits.data(), {B, V}});
    }
    for (index_t b = 0; b < B; ++b) {
      const float* row =
          n > 0 ? &logits[elements(b, V)] : &result.logits[elements(b * T + T - 1, V)];
      const std::int32_t id = arg_max({row, elements(V)});
      next[elements(b)] = id;
      result.greedy[elements(b * options.greedy + n)] = id;
    }
  }
  return result;
}

/// The same for an encoder: logits of its masked-LM head, all tokens true and of type 0.
/// Throws: ValueError for greedy tokens, and for a checkpoint without that head.
inline LogitsResult run_logits(TextEncoder& model, const TokenTable& tokens,
                               const LogitsOptions& options = {}) {
  if (options.greedy > 0)
    fail<ValueError>("greedy is ", options.greedy, ", expected 0: ", model.info().family,
                     " is an encoder, which continues nothing");
  const index_t M = tokens.batch * tokens.length, D = model.info().d_model;
  LogitsResult result{
      tokens.batch, tokens.length, model.info().vocabulary, D, model.info().layers, {}, {}, {}, 0};
  detail::StreamRecorder recorder;
  recorder.rows = &result.hidden_states;
  std::vector<float> hidden(static_cast<std::size_t>(M * D));
  TokenBatch batch(tokens.batch, tokens.length);
  model.forward(batch, {tokens.ids.data(), {tokens.batch, tokens.length}}, {},
                {hidden.data(), {M, D}}, options.hidden ? &recorder : nullptr);
  if (options.hidden) {  // the observer also saw what left the last layer; the output stands for it
    result.hidden_states.resize(static_cast<std::size_t>(result.layers * M * D));
    result.hidden_states.insert(result.hidden_states.end(), hidden.begin(), hidden.end());
  }
  result.logits.resize(static_cast<std::size_t>(M * result.vocabulary));
  model.head({hidden.data(), {M, D}}, {result.logits.data(), {M, result.vocabulary}});
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
