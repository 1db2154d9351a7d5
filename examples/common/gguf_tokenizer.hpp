// The tokenizer of a GGUF file.
#pragma once

#include <ashlar/weights/gguf.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "byte_level_bpe.hpp"

namespace ashlar::examples {

/// Reads the keys `tokenizer.ggml.*`.
/// Throws: FileError for a key that is missing or of another type, for an id that no token can
/// have, and for a tokenizer other than byte-level BPE.
inline BpeVocabulary read_vocabulary(const GgufFile& file) {
  const std::string_view model = file.string("tokenizer.ggml.model");
  if (model != "gpt2") {
    fail<FileError>(file.path(), ": tokenizer.ggml.model is \"", model,
                    "\", expected \"gpt2\" (byte-level BPE)");
  }
  const auto id = [&](std::string_view key) -> std::optional<std::int32_t> {
    if (!file.find_key(key)) return std::nullopt;
    const std::int64_t value = file.integer(key);
    constexpr std::int64_t limit = (std::numeric_limits<std::int32_t>::max)();
    if (value < 0 || value > limit) {
      fail<FileError>(file.path(), ": ", key, " is ", value, ", expected 0 to ", limit);
    }
    return static_cast<std::int32_t>(value);
  };
  BpeVocabulary vocabulary;
  for (const std::string_view token : file.strings("tokenizer.ggml.tokens")) {
    vocabulary.tokens.emplace_back(token);
  }
  for (const std::int64_t type : file.integers("tokenizer.ggml.token_type")) {
    vocabulary.types.push_back(static_cast<int>(type));
  }
  for (const std::string_view merge : file.strings("tokenizer.ggml.merges")) {
    vocabulary.merges.emplace_back(merge);
  }
  vocabulary.pre = file.string("tokenizer.ggml.pre");
  vocabulary.bos = id("tokenizer.ggml.bos_token_id");
  vocabulary.eos = id("tokenizer.ggml.eos_token_id");
  vocabulary.unknown = id("tokenizer.ggml.unknown_token_id");
  vocabulary.padding = id("tokenizer.ggml.padding_token_id");
  vocabulary.add_bos = file.boolean("tokenizer.ggml.add_bos_token", false);
  return vocabulary;
}

}  // namespace ashlar::examples
