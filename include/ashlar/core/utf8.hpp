// UTF-8: finding what is not, encoding a code point, and text that a terminal can show.
#pragma once

#include <ashlar/config.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace ashlar::inline ASHLAR_ABI::detail {

/// Bytes of the character at byte i, 0 if it is not UTF-8. Refuses overlong forms, surrogates and
/// code points above U+10FFFF.
inline std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned lead = byte(i);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  if (length == 0 || length > text.size() - i) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  const unsigned second = length > 2 ? byte(i + 1) : 0;
  const bool outside = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                       (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return outside ? 0 : length;
}

/// Position of the first byte that is not UTF-8, or text.size().
inline std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0, length; i < text.size(); i += length)
    if ((length = utf8_length(text, i)) == 0) return i;
  return text.size();
}

/// Text with control characters and what is not UTF-8 as \xNN, byte by byte. Line ends stay where
/// `lines` is true.
inline std::string printable(std::string_view text, bool lines = false) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const auto lead = static_cast<unsigned char>(text[i]);
    const bool control =
        lead < 0x20 || lead == 0x7f ||
        (lead == 0xc2 && length == 2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (length > 0 && (!control || (lines && lead == '\n'))) {
      result.append(text, i, length);
      i += length;
      continue;
    }
    for (std::size_t end = i + (length > 0 ? length : 1); i < end; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  return result;
}

inline void append_utf8(std::string& text, unsigned code_point) {
  const unsigned c = code_point;
  const auto put = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | (c >> 6));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12));
    put(0x80 | ((c >> 6) & 63));
  } else {
    put(0xf0 | (c >> 18));
    put(0x80 | ((c >> 12) & 63));
    put(0x80 | ((c >> 6) & 63));
  }
  put(0x80 | (c & 63));
}

}  // namespace ashlar::inline ASHLAR_ABI::detail
