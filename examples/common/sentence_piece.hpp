// Byte-pair encoding over characters with scores, as in SentencePiece: Llama 2 and Gemma.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "literal_tokens.hpp"
#include "tokenizer.hpp"
#include "unicode.hpp"

namespace ashlar::examples {

/// What a model file says about a SentencePiece tokenizer. Tokens spell a blank as U+2581, byte
/// tokens as <0x0A>.
struct SentencePieceVocabulary : Vocabulary {
  std::vector<double> scores;     ///< by id; the highest merges first
  bool add_space_prefix = false;  ///< whether a text is taken as if a blank stood before it
};

/// Text to token ids and back.
class SentencePiece final : public Tokenizer {
 public:
  /// Throws: ValueError for another number of scores than tokens, a score that is NaN, a byte token
  /// that is malformed, and as check_vocabulary().
  explicit SentencePiece(const SentencePieceVocabulary& vocabulary)
      : Tokenizer(vocabulary),
        types_(vocabulary.types),
        unknown_(vocabulary.unknown),
        add_space_prefix_(vocabulary.add_space_prefix) {
    const std::size_t count = vocabulary.tokens.size();
    if (vocabulary.scores.size() != count) {
      fail<ValueError>("got ", vocabulary.scores.size(), " token scores for ", count, " tokens");
    }
    byte_ids_.fill(none);
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isnan(vocabulary.scores[i])) fail<ValueError>("the score of token ", i, " is NaN");
      pieces_.push_back(read_piece(vocabulary.tokens[i], types_[i]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = static_cast<std::int32_t>(i);
      const std::string& piece = pieces_[i];
      const int type = types_[i];
      if (type == TokenType::byte) byte_ids_[static_cast<unsigned char>(piece[0])] = id;
      if (type == TokenType::control || type == TokenType::user_defined)
        literals_.add(piece, id, type == TokenType::control);
      if (type == TokenType::normal) {
        merged_.emplace(piece, Merged{vocabulary.scores[i], id});
        longest_ = (std::max)(longest_, piece.size());
      }
    }
  }
  // The table of merges looks into the pieces.
  SentencePiece(const SentencePiece&) = delete;
  SentencePiece& operator=(const SentencePiece&) = delete;

  /// Control and user-defined tokens are cut out first (the longest that begins at the leftmost
  /// place). The text between them begins as single characters, with U+2581 standing for a blank;
  /// of all neighbours that together are a normal token those of the highest score are merged, the
  /// leftmost first, until none are left. A character that is no token then becomes its bytes, or
  /// one unknown token (left out if there is none) if the vocabulary has no token for a byte of it.
  ///
  /// With add_space_prefix a blank is put in front of plain text at the beginning and behind a
  /// control token. The text is not normalised.
  ///
  /// Source: the BPE model of SentencePiece, with byte fallback. Cost: n log n for n bytes.
  std::vector<std::int32_t> encode(std::string_view text,
                                   EncodeOptions options = {}) const override {
    std::vector<std::int32_t> ids;
    bool at_start = true;
    literals_.cut(
        text, options.parse_special,
        [&](std::string_view plain) {
          merge(with_blanks(plain, add_space_prefix_ && at_start ? " " : ""), ids);
          at_start = false;
        },
        [&](LiteralTokens::Literal literal) {
          ids.push_back(literal.id);
          at_start = literal.is_control;
        });
    return ids;
  }

  /// As encode() read it: without the blanks that it put in front.
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    bool at_start = true;
    for (const std::int32_t id : ids) {
      const std::string& next = piece(id);
      const int type = types_[static_cast<std::size_t>(id)];
      const bool added = add_space_prefix_ && at_start && type == TokenType::normal;
      text.append(next, added && next.starts_with(' ') ? 1 : 0);
      at_start = type == TokenType::control;
    }
    return text;
  }

 private:
  static constexpr std::int32_t none = -1;

  struct Merged {
    double score;
    std::int32_t id;
  };

  /// The text with a blank for each U+2581.
  static std::string with_blanks(std::string_view text, std::string_view prefix = "") {
    constexpr std::string_view block = "\xE2\x96\x81";
    std::string result(prefix);
    result.reserve(prefix.size() + text.size());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t stop = (std::min)(text.find(block, at), text.size());
      result += text.substr(at, stop - at);
      if (stop < text.size()) result += ' ';
      at = stop + block.size();
    }
    return result;
  }

  static std::string read_piece(const std::string& token, int type) {
    if (type == TokenType::normal || type == TokenType::unused) return with_blanks(token);
    if (type != TokenType::byte) return token;
    unsigned byte = 0;
    const char* const digits = token.data() + 3;
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>') ||
        std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
      fail<ValueError>("a byte token is \"", token, "\", expected two hex digits as in \"<0x0A>\"");
    }
    return std::string(1, static_cast<char>(byte));
  }

  void merge(std::string_view text, std::vector<std::int32_t>& ids) const {
    // A list linked by position; a merge lengthens the left one and leaves the right one empty.
    struct Symbol {
      std::size_t begin, size, previous, next;
    };
    std::vector<Symbol> symbols;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = decode_utf8(text.substr(at)).size, i = symbols.size();
      symbols.push_back({at, size, i - 1, i + 1});
      at += size;
    }
    const std::size_t count = symbols.size();
    struct Candidate {
      double score;
      std::size_t at, size;
      bool operator<(const Candidate& other) const {  // the queue gives the largest first
        return std::tie(score, other.at) < std::tie(other.score, at);
      }
    };
    std::priority_queue<Candidate> queue;
    const auto offer = [&](std::size_t at) {
      const Symbol& left = symbols[at];
      if (left.next >= count) return;
      const std::size_t size = left.size + symbols[left.next].size;
      if (size > longest_) return;
      const auto found = merged_.find(text.substr(left.begin, size));
      if (found != merged_.end()) queue.push({found->second.score, at, size});
    };
    for (std::size_t i = 0; i < count; ++i) offer(i);
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      Symbol& left = symbols[best.at];
      // Symbols only grow, so two that still have this size together were not touched since.
      if (left.size == 0 || left.next >= count) continue;
      Symbol& right = symbols[left.next];
      if (left.size + right.size != best.size) continue;
      left.size = best.size;
      right.size = 0;
      left.next = right.next;
      if (left.next < count) symbols[left.next].previous = best.at;
      offer(best.at);
      if (best.at > 0) offer(left.previous);
    }
    for (std::size_t i = 0; i < count; i = symbols[i].next) {
      append_ids(text.substr(symbols[i].begin, symbols[i].size), ids);
    }
  }

  void append_ids(std::string_view symbol, std::vector<std::int32_t>& ids) const {
    if (const auto found = merged_.find(symbol); found != merged_.end()) {
      ids.push_back(found->second.id);
      return;
    }
    const auto id_of = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (std::all_of(symbol.begin(), symbol.end(), [&](char b) { return id_of(b) != none; })) {
      for (const char byte : symbol) ids.push_back(id_of(byte));
    } else if (unknown_) {
      ids.push_back(*unknown_);
    }
  }

  std::vector<int> types_;  ///< by id
  std::optional<std::int32_t> unknown_;
  bool add_space_prefix_;
  std::unordered_map<std::string_view, Merged> merged_;  ///< normal tokens, by piece
  std::size_t longest_ = 0;                              ///< bytes of the longest normal token
  std::array<std::int32_t, 256> byte_ids_{};             ///< none: not in the vocabulary
  LiteralTokens literals_;
};

}  // namespace ashlar::examples
