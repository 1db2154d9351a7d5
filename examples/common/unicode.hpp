// UTF-8 and the character classes that tokenizers ask for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "unicode_ranges.hpp"

namespace ashlar::examples {

inline constexpr char32_t replacement_character = 0xFFFD;

/// One step through UTF-8 text.
struct Decoded {
  char32_t value;    ///< the code point, U+FFFD for bytes that are none
  std::size_t size;  ///< bytes used, at least 1
  bool truncated;    ///< the text ends inside a character that is right so far
};

/// Decodes the character at the front of text. A sequence that is not UTF-8 (overlong forms and
/// surrogates included) gives U+FFFD and uses the longest part that could have begun a character.
///
/// Source: The Unicode Standard, table 3-7 and section 3.9 (U+FFFD substitution of maximal
/// subparts). Shapes: text must not be empty.
inline Decoded decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1, false};
  if (lead < 0xC2 || lead > 0xF4) return {replacement_character, 1, false};
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t value = lead & (0x7Fu >> size);
  // Only the second byte has narrower limits: they keep out overlong forms, surrogates and values
  // past U+10FFFF.
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {replacement_character, i, true};
    if (byte(i) < low || byte(i) > high) return {replacement_character, i, false};
    value = value << 6 | (byte(i) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {value, size, false};
}

/// Appends the UTF-8 form of a code point.
inline void append_utf8(std::string& text, char32_t value) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (value < 0x80) {
    put(value);
    return;
  }
  const int tail = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
  constexpr char32_t leads[] = {0xC0, 0xE0, 0xF0};
  put(leads[tail - 1] | value >> (6 * tail));
  for (int i = tail - 1; i >= 0; --i) put(0x80u | (value >> (6 * i) & 0x3Fu));
}

namespace detail {
template <std::size_t Count>
bool within(const char32_t (&bounds)[Count], char32_t value) {
  const auto after = std::upper_bound(std::begin(bounds), std::end(bounds), value);
  return (after - std::begin(bounds)) % 2 == 1;
}
}  // namespace detail

inline bool is_letter(char32_t value) { return detail::within(letter_bounds, value); }
inline bool is_number(char32_t value) { return detail::within(number_bounds, value); }
inline bool is_white_space(char32_t value) { return detail::within(white_space_bounds, value); }
inline bool is_punctuation(char32_t value) { return detail::within(punctuation_bounds, value); }
inline bool is_nonspacing_mark(char32_t value) {
  return detail::within(nonspacing_mark_bounds, value);
}
/// Controls, invisible format characters and private use.
inline bool is_control(char32_t value) { return detail::within(control_bounds, value); }

}  // namespace ashlar::examples
