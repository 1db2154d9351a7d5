// Text that arrives in pieces which may end inside a character.
#pragma once

#include <string>
#include <string_view>

#include "unicode.hpp"

namespace ashlar::examples {

/// Turns a stream of bytes into valid UTF-8: holds back the beginning of a character until the rest
/// of it arrives and replaces what can never become one by U+FFFD.
class Utf8Stream {
 public:
  /// Takes more bytes and returns what is complete by now.
  std::string push(std::string_view bytes) {
    held_ += bytes;
    std::string ready;
    std::string_view rest = held_;
    while (!rest.empty()) {
      const Decoded next = decode_utf8(rest);
      if (next.truncated) break;
      append_utf8(ready, next.value);
      rest.remove_prefix(next.size);
    }
    held_ = std::string(rest);
    return ready;
  }

  /// Ends the stream: U+FFFD if it stopped inside a character, else nothing.
  std::string finish() {
    std::string ready;
    if (!held_.empty()) append_utf8(ready, replacement_character);
    held_.clear();
    return ready;
  }

 private:
  std::string held_;
};

}  // namespace ashlar::examples
