// Tokens that are found in the text as they are written, before anything else happens to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ashlar::examples {

/// Control and user-defined tokens, such as "<|im_end|>" or a run of blanks.
class LiteralTokens {
 public:
  struct Literal {
    std::int32_t id;
    bool is_control;  ///< found only where the caller allows it
  };

  /// Of two tokens with one text the first stays. An empty text is never found.
  void add(std::string_view text, std::int32_t id, bool is_control) {
    if (text.empty() || !literals_.emplace(text, Literal{id, is_control}).second) return;
    std::vector<std::size_t>& sizes = sizes_[static_cast<unsigned char>(text[0])];
    const auto at = std::lower_bound(sizes.begin(), sizes.end(), text.size(), std::greater<>());
    if (at == sizes.end() || *at != text.size()) sizes.insert(at, text.size());
  }

  /// Cuts a text: at the leftmost place where a token begins, the longest that begins there. Calls
  /// on_text(std::string_view) and on_token(Literal) in the order of the text, never with nothing.
  template <class OnText, class OnToken>
  void cut(std::string_view text, bool parse_special, OnText&& on_text, OnToken&& on_token) const {
    std::size_t begin = 0, at = 0;
    while (at < text.size()) {
      const auto found = find(text.substr(at), parse_special);
      if (found == literals_.end()) {
        ++at;
        continue;
      }
      if (at > begin) on_text(text.substr(begin, at - begin));
      on_token(found->second);
      at += found->first.size();
      begin = at;
    }
    if (begin < text.size()) on_text(text.substr(begin));
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Map = std::unordered_map<std::string, Literal, Hash, std::equal_to<>>;

  // One look-up for each length, however many tokens there are: Gemma has thousands.
  Map::const_iterator find(std::string_view text, bool parse_special) const {
    for (const std::size_t size : sizes_[static_cast<unsigned char>(text[0])]) {
      if (size > text.size()) continue;
      const auto found = literals_.find(text.substr(0, size));
      if (found != literals_.end() && (parse_special || !found->second.is_control)) return found;
    }
    return literals_.end();
  }

  Map literals_;
  std::array<std::vector<std::size_t>, 256> sizes_;  ///< by first byte, the longest first
};

}  // namespace ashlar::examples
