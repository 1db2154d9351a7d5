// Byte-level byte-pair encoding, as in GPT-2 and SmolLM.
#pragma once

#include <array>
#include <ashlar/core/error.hpp>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "literal_tokens.hpp"
#include "pre_tokenizer.hpp"
#include "tokenizer.hpp"
#include "unicode.hpp"

namespace ashlar::examples {

/// What a model file says about a byte-level BPE. Tokens are spelled in the byte alphabet, special
/// ones as plain text.
struct BpeVocabulary : Vocabulary {
  std::vector<std::string> merges;  ///< "left right", the best first
  std::string pre;                  ///< name of the pre-tokenizer
};

/// The alphabet in which vocabularies spell bytes: printable Latin-1 characters stand for
/// themselves, the other 68 bytes are U+0100 and up in rising order.
inline std::array<char32_t, 256> byte_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    alphabet[byte] = printable ? byte : next++;
  }
  return alphabet;
}

/// Text to token ids and back.
class ByteLevelBpe final : public Tokenizer {
 public:
  /// Throws: ValueError for an unknown pre-tokenizer, for a merge that is malformed or has no
  /// token, and as check_vocabulary().
  explicit ByteLevelBpe(const BpeVocabulary& vocabulary)
      : Tokenizer(vocabulary), digits_(digit_rule(vocabulary.pre)) {
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const std::string& token = vocabulary.tokens[i];
      const int type = vocabulary.types[i];
      const auto id = static_cast<std::int32_t>(i);
      const bool literal = type == TokenType::control || type == TokenType::user_defined;
      pieces_.push_back(literal ? token : from_alphabet(token));
      ids.emplace(token, id);
      if (literal) literals_.add(token, id, type == TokenType::control);
    }
    const std::array<char32_t, 256> alphabet = byte_alphabet();
    for (std::size_t byte = 0; byte < 256; ++byte) {
      std::string text;
      append_utf8(text, alphabet[byte]);
      const auto found = ids.find(text);
      byte_ids_[byte] = found == ids.end() ? none : found->second;
    }
    for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
      const std::string& merge = vocabulary.merges[rank];
      const std::size_t blank = merge.find(' ', 1);
      if (blank == std::string::npos || blank + 1 == merge.size()) {
        fail<ValueError>("merge ", rank, " is \"", merge, "\", expected \"left right\"");
      }
      const auto id = [&](const std::string& text) {
        const auto found = ids.find(text);
        if (found == ids.end()) {
          fail<ValueError>("merge ", rank, " is \"", merge, "\", but no token is \"", text, "\"");
        }
        return found->second;
      };
      const std::string left = merge.substr(0, blank), right = merge.substr(blank + 1);
      merges_.emplace(pair_key(id(left), id(right)), Merge{rank, id(left + right)});
    }
  }

  /// Control and user-defined tokens are cut out first (the longest that begins at the leftmost
  /// place) and the text between them is pre-tokenized. In each piece, bytes that have no token are
  /// left out; then the adjacent pair of the best rank is merged, the leftmost first, until no pair
  /// has a merge.
  ///
  /// Cost: n log n for a piece of n bytes.
  std::vector<std::int32_t> encode(std::string_view text,
                                   EncodeOptions options = {}) const override {
    std::vector<std::int32_t> ids;
    literals_.cut(
        text, options.parse_special,
        [&](std::string_view plain) {
          for (const std::string_view piece : pre_tokenize(plain, digits_)) merge_piece(piece, ids);
        },
        [&](LiteralTokens::Literal literal) { ids.push_back(literal.id); });
    return ids;
  }

 private:
  static constexpr std::int32_t none = -1;

  struct Merge {
    std::size_t rank;
    std::int32_t result;
  };

  static DigitRule digit_rule(std::string_view pre) {
    if (pre == "gpt-2") return DigitRule::together;
    if (pre == "smollm" || pre == "starcoder" || pre == "refact") return DigitRule::apart;
    fail<ValueError>("pre-tokenizer \"", pre,
                     "\" is not supported, expected gpt-2, smollm, starcoder or refact");
  }

  /// The bytes that a token spells; a token that is not in the alphabet stands for its own text.
  static std::string from_alphabet(const std::string& token) {
    static const std::array<int, 0x200> bytes = [] {
      std::array<int, 0x200> inverse;
      inverse.fill(-1);
      const std::array<char32_t, 256> alphabet = byte_alphabet();
      for (int byte = 0; byte < 256; ++byte)
        inverse[alphabet[static_cast<std::size_t>(byte)]] = byte;
      return inverse;
    }();
    std::string text;
    for (std::string_view rest = token; !rest.empty();) {
      const Decoded next = decode_utf8(rest);
      if (next.value >= bytes.size() || bytes[next.value] < 0) return token;
      text += static_cast<char>(bytes[next.value]);
      rest.remove_prefix(next.size);
    }
    return text;
  }

  static std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }

  void merge_piece(std::string_view piece, std::vector<std::int32_t>& ids) const {
    // A list of tokens linked by position; a merge keeps the left place and unlinks the right one.
    std::vector<std::int32_t> tokens;
    for (const char byte : piece) {
      const std::int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
      if (id != none) tokens.push_back(id);
    }
    const std::size_t count = tokens.size();
    std::vector<std::size_t> previous(count), next(count);
    for (std::size_t i = 0; i < count; ++i) {
      previous[i] = i - 1;
      next[i] = i + 1;
    }
    struct Candidate {
      std::size_t rank, at;
      std::int32_t left, right, result;
      bool operator<(const Candidate& other) const {  // the queue gives the largest first
        return std::tie(other.rank, other.at) < std::tie(rank, at);
      }
    };
    std::priority_queue<Candidate> queue;
    const auto offer = [&](std::size_t at) {
      if (next[at] >= count) return;
      const std::int32_t left = tokens[at], right = tokens[next[at]];
      const auto found = merges_.find(pair_key(left, right));
      if (found == merges_.end()) return;
      queue.push({found->second.rank, at, left, right, found->second.result});
    };
    for (std::size_t i = 0; i < count; ++i) offer(i);
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      const std::size_t at = best.at, right = next[at];
      // Tokens only grow, so a place that still holds the same two was not touched since.
      if (tokens[at] != best.left || right >= count || tokens[right] != best.right) continue;
      tokens[at] = best.result;
      tokens[right] = none;
      next[at] = next[right];
      if (next[at] < count) previous[next[at]] = at;
      offer(at);
      if (at > 0) offer(previous[at]);
    }
    for (std::size_t i = 0; i < count; i = next[i]) ids.push_back(tokens[i]);
  }

  DigitRule digits_;
  std::array<std::int32_t, 256> byte_ids_{};         ///< none: not in the vocabulary
  std::unordered_map<std::uint64_t, Merge> merges_;  ///< by pair_key
  LiteralTokens literals_;
};

}  // namespace ashlar::examples
