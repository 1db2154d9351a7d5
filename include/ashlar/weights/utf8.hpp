// UTF-8: finding what is not, and encoding a code point.
#pragma once

#include <ashlar/config.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace ashlar::inline ASHLAR_ABI::detail {

/// Position of the first byte that is not UTF-8, or text.size(). Refuses overlong forms,
/// surrogates and code points above U+10FFFF.
inline std::size_t find_invalid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size() - i) return i;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    const unsigned second = length > 2 ? byte(i + 1) : 0;
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
      return i;
    i += length;
  }
  return i;
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
