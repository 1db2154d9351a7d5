// Cuts text into the pieces inside which byte-pair merges may happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "unicode.hpp"

namespace ashlar::examples {

enum class DigitRule : std::uint8_t {
  together,  ///< a run of digits is one piece, as in GPT-2
  apart      ///< every character of category N is its own piece, as in SmolLM
};

namespace detail {

enum class CharacterClass : std::uint8_t { letter, number, white_space, other };

struct Character {
  std::size_t offset;
  char32_t value;
  CharacterClass kind;
};

inline CharacterClass classify(char32_t value) {
  if (is_letter(value)) return CharacterClass::letter;
  if (is_number(value)) return CharacterClass::number;
  return is_white_space(value) ? CharacterClass::white_space : CharacterClass::other;
}

/// Length of the contraction that begins at `at` ('s 't 'm 'd 're 've 'll), 0 if none does.
inline std::size_t contraction(const std::vector<Character>& text, std::size_t at,
                               std::size_t end) {
  if (text[at].value != U'\'' || end - at < 2) return 0;
  const char32_t first = text[at + 1].value;
  if (first == U's' || first == U't' || first == U'm' || first == U'd') return 2;
  if (end - at < 3) return 0;
  const char32_t second = text[at + 2].value;
  const bool found =
      ((first == U'r' || first == U'v') && second == U'e') || (first == U'l' && second == U'l');
  return found ? 3 : 0;
}

/// End of the piece that begins at `at`, by the GPT-2 pattern applied to text[.. end).
inline std::size_t piece_end(const std::vector<Character>& text, std::size_t at, std::size_t end) {
  if (const std::size_t size = contraction(text, at, end)) return at + size;
  // " ?" of the pattern: one plain blank goes with what follows it.
  const std::size_t body = text[at].value == U' ' && at + 1 < end ? at + 1 : at;
  const bool blank = text[body].kind == CharacterClass::white_space;
  const std::size_t begin = blank ? at : body;
  std::size_t stop = begin;
  while (stop < end && text[stop].kind == text[begin].kind) ++stop;
  // \s+(?!\S): a longer run of white space leaves its last character to the next piece.
  return blank && stop < end && stop - at > 1 ? stop - 1 : stop;
}

}  // namespace detail

/// Cuts text into pieces; together they are the text again, bad UTF-8 included.
///
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
///
/// With DigitRule::apart every \p{N} is cut out first, and the pattern sees only what lies between.
///
/// Source: the GPT-2 encoder; the digit rule is that of StarCoder and SmolLM.
/// Cost: linear in the text. The pieces point into it.
inline std::vector<std::string_view> pre_tokenize(std::string_view text, DigitRule digits) {
  std::vector<detail::Character> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode_utf8(text.substr(at));
    characters.push_back({at, next.value, detail::classify(next.value)});
    at += next.size;
  }
  const std::size_t count = characters.size();
  const auto alone = [&](std::size_t i) {
    return digits == DigitRule::apart && characters[i].kind == detail::CharacterClass::number;
  };
  std::vector<std::string_view> pieces;
  const auto add = [&](std::size_t begin, std::size_t end) {
    const std::size_t from = characters[begin].offset;
    const std::size_t to = end < count ? characters[end].offset : text.size();
    pieces.push_back(text.substr(from, to - from));
  };
  for (std::size_t at = 0; at < count;) {
    std::size_t segment = at;
    while (segment < count && !alone(segment)) ++segment;
    while (at < segment) {
      const std::size_t stop = detail::piece_end(characters, at, segment);
      add(at, stop);
      at = stop;
    }
    if (at < count) {
      add(at, at + 1);
      ++at;
    }
  }
  return pieces;
}

}  // namespace ashlar::examples
