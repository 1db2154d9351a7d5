// What every tokenizer of a language model offers.
#pragma once

#include <ashlar/core/error.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::examples {

/// What a model file says about its tokens, whatever the kind of its tokenizer.
struct Vocabulary {
  std::vector<std::string> tokens;  ///< by id
  std::vector<int> types;           ///< by id, see TokenType
  std::optional<std::int32_t> bos, eos, unknown, padding;
  bool add_bos = false;
};

/// Types of tokens, numbered as in GGUF files.
struct TokenType {
  static constexpr int normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6;
};

/// Throws: ValueError for `types` of another length than `tokens`, and for a special id outside the
/// vocabulary.
inline void check_vocabulary(const Vocabulary& vocabulary) {
  const std::size_t count = vocabulary.tokens.size();
  if (vocabulary.types.size() != count) {
    fail<ValueError>("got ", vocabulary.types.size(), " token types for ", count, " tokens");
  }
  const auto check_id = [&](const char* name, std::optional<std::int32_t> id) {
    if (id && (*id < 0 || static_cast<std::size_t>(*id) >= count)) {
      fail<ValueError>(name, " token id ", *id, " is outside the vocabulary of ", count, " tokens");
    }
  };
  check_id("bos", vocabulary.bos);
  check_id("eos", vocabulary.eos);
  check_id("unknown", vocabulary.unknown);
  check_id("padding", vocabulary.padding);
}

struct EncodeOptions {
  /// Whether the text of a control token ("<|im_end|>") means that token. Switch it off for text of
  /// strangers. User-defined tokens are found in any case.
  bool parse_special = true;
};

/// Text to token ids and back.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids of the text. No token is added to it; see add_bos().
  virtual std::vector<std::int32_t> encode(std::string_view text,
                                           EncodeOptions options = {}) const = 0;

  /// Text of all the tokens, special ones included. Throws: as piece().
  virtual std::string decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (const std::int32_t id : ids) text += piece(id);
    return text;
  }

  /// Bytes of one token, which may be a part of a character.
  /// Throws: ValueError for an id outside the vocabulary.
  const std::string& piece(std::int32_t id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= size()) {
      fail<ValueError>("token id ", id, " is outside the vocabulary of ", size(), " tokens");
    }
    return pieces_[static_cast<std::size_t>(id)];
  }

  std::size_t size() const { return pieces_.size(); }
  std::optional<std::int32_t> bos() const { return bos_; }
  std::optional<std::int32_t> eos() const { return eos_; }
  /// Whether the model wants bos() in front of a text.
  bool add_bos() const { return add_bos_; }

 protected:
  /// Throws: as check_vocabulary(). The pieces are left to the class that derives from this.
  explicit Tokenizer(const Vocabulary& vocabulary)
      : bos_(vocabulary.bos), eos_(vocabulary.eos), add_bos_(vocabulary.add_bos) {
    check_vocabulary(vocabulary);
  }
  Tokenizer(const Tokenizer&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;

  std::vector<std::string> pieces_;  ///< by id

 private:
  std::optional<std::int32_t> bos_, eos_;
  bool add_bos_;
};

}  // namespace ashlar::examples
