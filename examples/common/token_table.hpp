// Token ids as a command line gives them.
#pragma once

#include <algorithm>
#include <ashlar/core/error.hpp>
#include <ashlar/core/view.hpp>
#include <ashlar/nn/token_batch.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::examples {

/// Sequences of ids; shorter ones are padded with 0 to the longest.
struct TokenTable {
  index_t batch = 0, length = 0;
  std::vector<std::int32_t> ids;   ///< [B, T]
  std::vector<index_t> lengths{};  ///< [B], or empty where all have `length`
  std::string name = "tokens";     ///< for messages: what they were given as

  MatrixView<const std::int32_t> view() const { return {ids.data(), {batch, length}}; }
  TokenBatch token_batch() const {
    TokenBatch all(batch, length);
    if (!lengths.empty()) all.set_lengths({lengths.data(), {batch}});
    return all;
  }
};

/// Reads "1,2,3;4,5": ids separated by commas, sequences by semicolons.
/// Throws: ValueError that names the item.
inline TokenTable parse_padded_tokens(std::string_view text, std::string_view name = "tokens") {
  const auto next = [](std::string_view& rest, char end) {
    const std::size_t at = (std::min)(rest.find(end), rest.size());
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix((std::min)(at + 1, rest.size()));
    return part;
  };
  const auto count = [](std::string_view list, char separator) {
    return static_cast<index_t>(std::count(list.begin(), list.end(), separator)) + 1;
  };
  TokenTable table;
  table.name = name;
  table.batch = count(text, ';');
  for (std::string_view rest = text; !rest.empty();)
    table.length = (std::max)(table.length, count(next(rest, ';'), ','));
  for (index_t b = 0; b < table.batch; ++b) {
    std::string_view list = next(text, ';');
    const std::string sequence = join(name, " of sequence ", b + 1);
    if (list.empty()) fail<ValueError>(sequence, ": got none, expected at least 1");
    const index_t length = count(list, ',');
    for (index_t t = 0; t < length; ++t) {
      const std::string_view item = next(list, ',');
      std::int32_t id = -1;
      const auto [end, problem] = std::from_chars(item.data(), item.data() + item.size(), id);
      if (problem != std::errc() || end != item.data() + item.size() || id < 0)
        fail<ValueError>(sequence, ": item ", t + 1, " is \"", item, "\", expected a token id");
      table.ids.push_back(id);
    }
    table.ids.resize(static_cast<std::size_t>((b + 1) * table.length), 0);
    table.lengths.push_back(length);
  }
  if (std::count(table.lengths.begin(), table.lengths.end(), table.length) == table.batch)
    table.lengths.clear();
  return table;
}

/// Throws: ValueError for sequences of different lengths.
inline const TokenTable& expect_equal_lengths(const TokenTable& table) {
  for (std::size_t b = 1; b < table.lengths.size(); ++b)
    if (table.lengths[b] != table.lengths[0])
      fail<ValueError>(table.name, " of sequence ", b + 1, ": got ", table.lengths[b],
                       ", expected ", table.lengths[0], " as in the first sequence");
  return table;
}

/// The same for sequences of equal length.
inline TokenTable parse_tokens(std::string_view text) {
  return expect_equal_lengths(parse_padded_tokens(text));
}

}  // namespace ashlar::examples
