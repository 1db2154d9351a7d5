// WordPiece, the tokenizer of BERT and of sentence embedders made from it.
#pragma once

#include <ashlar/core/error.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bert_words.hpp"
#include "literal_tokens.hpp"

namespace ashlar::examples {

/// What a model's folder says about its tokenizer.
struct WordPieceVocabulary {
  std::vector<std::string> tokens;  ///< by id; "##ing" continues a word
  bool uncased = true;              ///< whether case and accents are dropped
  std::size_t longest_word = 100;   ///< characters; a longer word is unknown
};

struct WordPieceOptions {
  std::size_t max_tokens = 0;  ///< what is longer is cut to this, [SEP] included; 0: no limit
  /// Whether "[MASK]" and the like in the text mean these tokens. Switch it off for text of
  /// strangers.
  bool parse_special = true;
};

/// Text to token ids.
class WordPiece {
 public:
  /// Throws: ValueError for a token that stands there twice, and if [UNK], [CLS] or [SEP] is
  /// missing.
  explicit WordPiece(const WordPieceVocabulary& vocabulary)
      : tokens_(vocabulary.tokens),
        uncased_(vocabulary.uncased),
        longest_word_(vocabulary.longest_word) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto [found, is_new] = ids_.emplace(tokens_[i], static_cast<std::int32_t>(i));
      if (!is_new) {
        fail<ValueError>("token ", i, " is \"", tokens_[i], "\", and so is token ", found->second);
      }
    }
    const auto need = [&](const char* token) {
      const std::optional<std::int32_t> id = find(token);
      if (!id) fail<ValueError>("the vocabulary has no token ", token);
      return *id;
    };
    unknown_ = need("[UNK]");
    begin_ = need("[CLS]");
    end_ = need("[SEP]");
    for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
      if (const auto id = find(token)) special_.add(token, *id, true);
    }
  }

  /// Ids of the text, with [CLS] in front and [SEP] behind.
  ///
  /// Special tokens are cut out of the text first. A word (see bert_words()) is the longest token
  /// that it begins with, then the longest "##" token that the rest begins with, and so on; if that
  /// leads nowhere, all of it is [UNK].
  ///
  /// Source: Devlin et al. 2018, BERT. Throws: ValueError for a limit below 2.
  std::vector<std::int32_t> encode(std::string_view text, WordPieceOptions options = {}) const {
    const std::size_t limit = options.max_tokens;
    if (limit == 1) fail<ValueError>("max_tokens is 1, expected at least 2, or 0 for no limit");
    std::vector<std::int32_t> ids{begin_};
    special_.cut(
        text, options.parse_special,
        [&](std::string_view plain) {
          for (const std::u32string& word : bert_words(plain, uncased_)) append_word(word, ids);
        },
        [&](LiteralTokens::Literal literal) { ids.push_back(literal.id); });
    if (limit > 0 && ids.size() > limit - 1) ids.resize(limit - 1);
    ids.push_back(end_);
    return ids;
  }

  /// The id of a token, if it is in the vocabulary.
  std::optional<std::int32_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  /// Throws: ValueError for an id outside the vocabulary.
  const std::string& token(std::int32_t id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= size()) {
      fail<ValueError>("token id ", id, " is outside the vocabulary of ", size(), " tokens");
    }
    return tokens_[static_cast<std::size_t>(id)];
  }
  std::size_t size() const { return tokens_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void append_word(const std::u32string& word, std::vector<std::int32_t>& ids) const {
    if (word.size() > longest_word_) {
      ids.push_back(unknown_);
      return;
    }
    std::string text = "##";
    std::vector<std::size_t> ends;  // of each character in text
    for (const char32_t c : word) {
      append_utf8(text, c);
      ends.push_back(text.size());
    }
    const std::size_t before = ids.size(), prefix = 2;
    for (std::size_t begin = prefix; begin < text.size();) {
      // The text before `begin` is done with, so that the mark of a continuation fits there.
      const std::size_t from = begin == prefix ? begin : begin - prefix;
      if (from < begin) text.replace(from, prefix, "##");
      std::optional<std::int32_t> id;
      std::size_t end = begin;
      for (std::size_t i = ends.size(); i > 0 && ends[i - 1] > begin && !id; --i) {
        end = ends[i - 1];
        id = find(std::string_view(text).substr(from, end - from));
      }
      if (!id) {
        ids.resize(before);
        ids.push_back(unknown_);
        return;
      }
      ids.push_back(*id);
      begin = end;
    }
  }

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  LiteralTokens special_;
  std::int32_t unknown_ = 0, begin_ = 0, end_ = 0;
  bool uncased_;
  std::size_t longest_word_;
};

}  // namespace ashlar::examples
