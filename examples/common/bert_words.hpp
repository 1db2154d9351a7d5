// Cuts text into the words that BERT's vocabulary is about.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "unicode.hpp"
#include "unicode_folding.hpp"

namespace ashlar::examples {

namespace detail {

/// Place of the first value of each range of folding_bounds.
inline constexpr auto folding_starts = [] {
  std::array<std::size_t, std::size(folding_bounds) / 2> starts{};
  for (std::size_t i = 1; i < starts.size(); ++i)
    starts[i] = starts[i - 1] + (folding_bounds[2 * i - 1] - folding_bounds[2 * i - 2]);
  return starts;
}();

/// Canonical decomposition of a Hangul syllable into its two or three letters.
inline void append_hangul(std::u32string& text, char32_t syllable) {
  const char32_t index = syllable - 0xAC00, tail = index % 28;
  text += 0x1100 + index / (21 * 28);
  text += 0x1161 + index / 28 % 21;
  if (tail != 0) text += 0x11A7 + tail;
}

}  // namespace detail

/// Appends a character without its case and its accents: canonical decomposition (NFD), nonspacing
/// marks dropped, in lower case. The order of marks that stay is not changed.
///
/// Source: The Unicode Standard, sections 3.12 (Hangul) and 4.2; the data are in
/// unicode_folding.hpp.
inline void append_folded(std::u32string& text, char32_t value) {
  if (is_nonspacing_mark(value)) return;
  if (value >= 0xAC00 && value < 0xD7A4) return detail::append_hangul(text, value);
  const auto first = std::begin(folding_bounds);
  const auto after = std::upper_bound(first, std::end(folding_bounds), value) - first;
  if (after % 2 == 0) {
    text += value;
    return;
  }
  const auto begin = static_cast<std::size_t>(after - 1);
  const char32_t folded =
      folding_values[detail::folding_starts[begin / 2] + (value - folding_bounds[begin])];
  if (folded < 0x110000) {
    text += folded;
    return;
  }
  const char32_t* const sequence = folding_sequences + std::size_t{3} * (folded - 0x110000);
  for (int i = 0; i < 3 && sequence[i] != 0; ++i) text += sequence[i];
}

/// What BERT sets apart as a word of its own: punctuation, and all ASCII signs.
inline bool is_bert_punctuation(char32_t c) {
  const bool ascii = (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
                     (c >= 123 && c <= 126);
  return ascii || is_punctuation(c);
}

/// Ideographs, which BERT sets apart too. Kana and Hangul are not among them.
inline bool is_ideograph(char32_t c) {
  constexpr char32_t bounds[] = {0x3400,  0x4DC0,  0x4E00,  0xA000,  0xF900,  0xFB00,
                                 0x20000, 0x2A6E0, 0x2A700, 0x2CEB0, 0x2F800, 0x2FA20};
  return detail::within(bounds, c);
}

/// Words of a text: controls are dropped, white space and ideographs cut, letters are folded (if
/// the model is uncased) and punctuation cut. Bytes that are not UTF-8 are dropped.
///
/// Source: Devlin et al. 2018, BERT (BasicTokenizer), as the tokenizers library applies it: accents
/// go before the case does, and private use counts as control.
inline std::vector<std::u32string> bert_words(std::string_view text, bool uncased) {
  std::vector<std::u32string> words;
  std::u32string word, folded;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  while (!text.empty()) {
    const Decoded next = decode_utf8(text);
    text.remove_prefix(next.size);
    const char32_t c = next.value;
    if (c == U'\t' || c == U'\n' || c == U'\r') {
      finish();
      continue;
    }
    if (is_control(c) || c == replacement_character) continue;
    if (is_white_space(c)) {
      finish();
      continue;
    }
    folded.clear();
    if (uncased)
      append_folded(folded, c);
    else
      folded += c;
    const bool ideograph = is_ideograph(c);
    if (ideograph) finish();
    for (const char32_t part : folded) {
      const bool alone = is_bert_punctuation(part);
      if (alone) finish();
      word += part;
      if (alone) finish();
    }
    if (ideograph) finish();
  }
  finish();
  return words;
}

}  // namespace ashlar::examples
