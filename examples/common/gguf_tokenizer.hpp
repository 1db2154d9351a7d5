// The tokenizer of a GGUF file.
#pragma once

#include <ashlar/weights/gguf.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "byte_level_bpe.hpp"
#include "sentence_piece.hpp"

namespace ashlar::examples {

namespace detail {

/// The keys that every kind of tokenizer has.
inline void read_vocabulary(const GgufFile& file, Vocabulary& vocabulary, bool add_bos) {
  const auto id = [&](std::string_view key) -> std::optional<std::int32_t> {
    if (!file.find_key(key)) return std::nullopt;
    const std::int64_t value = file.integer(key);
    constexpr std::int64_t limit = (std::numeric_limits<std::int32_t>::max)();
    if (value < 0 || value > limit) {
      fail<FileError>(file.path(), ": ", key, " is ", value, ", expected 0 to ", limit);
    }
    return static_cast<std::int32_t>(value);
  };
  for (const std::string_view token : file.strings("tokenizer.ggml.tokens")) {
    vocabulary.tokens.emplace_back(token);
  }
  for (const std::int64_t type : file.integers("tokenizer.ggml.token_type")) {
    vocabulary.types.push_back(static_cast<int>(type));
  }
  vocabulary.bos = id("tokenizer.ggml.bos_token_id");
  vocabulary.eos = id("tokenizer.ggml.eos_token_id");
  vocabulary.unknown = id("tokenizer.ggml.unknown_token_id");
  vocabulary.padding = id("tokenizer.ggml.padding_token_id");
  vocabulary.add_bos = file.boolean("tokenizer.ggml.add_bos_token", add_bos);
}

}  // namespace detail

/// Reads the keys `tokenizer.ggml.*` of a file whose `tokenizer.ggml.model` is "gpt2".
/// Throws: FileError for a key that is missing or of another type and for an id that no token can
/// have.
inline BpeVocabulary read_bpe_vocabulary(const GgufFile& file) {
  BpeVocabulary vocabulary;
  detail::read_vocabulary(file, vocabulary, /*add_bos=*/false);
  for (const std::string_view merge : file.strings("tokenizer.ggml.merges")) {
    vocabulary.merges.emplace_back(merge);
  }
  vocabulary.pre = file.string("tokenizer.ggml.pre");
  return vocabulary;
}

/// The same for "llama". A file that does not say otherwise wants a first token and a blank in
/// front of a text, as Llama 2 does. Throws: as read_bpe_vocabulary().
inline SentencePieceVocabulary read_sentence_piece_vocabulary(const GgufFile& file) {
  SentencePieceVocabulary vocabulary;
  detail::read_vocabulary(file, vocabulary, /*add_bos=*/true);
  vocabulary.scores = file.numbers("tokenizer.ggml.scores");
  vocabulary.add_space_prefix = file.boolean("tokenizer.ggml.add_space_prefix", true);
  return vocabulary;
}

/// The tokenizer that `tokenizer.ggml.model` names.
/// Throws: FileError for a kind that is not known and as read_bpe_vocabulary(); ValueError for a
/// vocabulary that contradicts itself.
inline std::unique_ptr<const Tokenizer> read_tokenizer(const GgufFile& file) {
  const std::string_view model = file.string("tokenizer.ggml.model");
  if (model == "gpt2") return std::make_unique<ByteLevelBpe>(read_bpe_vocabulary(file));
  if (model == "llama") {
    return std::make_unique<SentencePiece>(read_sentence_piece_vocabulary(file));
  }
  fail<FileError>(file.path(), ": tokenizer.ggml.model is \"", model,
                  "\", expected \"gpt2\" (byte-level BPE) or \"llama\" (SentencePiece)");
}

}  // namespace ashlar::examples
