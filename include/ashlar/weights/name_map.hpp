// NameMap: where each weight of a model lies in a checkpoint, and how.
#pragma once

#include <algorithm>
#include <ashlar/core/error.hpp>
#include <ashlar/weights/sorted_order.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// How a tensor is stored, where it is not just the weight. Rows are rows of a matrix [out, in] or
/// elements of a vector. Row i of the weight is the stored row
///   first_row + i / block * period + i % block          (without a block: first_row + i)
/// With heads of width H, k is
///   {.first_row = H, .block = H, .period = 3 * H}   where each head has q, k, v (GPT-NeoX)
///   {.first_row = Q, .total_rows = Q + K + V}       where all q, all k, all v follow (Phi-3)
struct StoredAs {
  index_t first_row = 0;
  index_t total_rows = 0;         // of the tensor; 0: the weight's rows, or whole periods
  bool transposed = false;        // [in, out]; rows above are columns then
  index_t block = 0, period = 0;  // `block` rows out of every `period`; 0: all of them together
  // The tensor's extents, where they are other than the weight's: {D, C, P, P} for [D, C P P],
  // {heads, H} for [heads H]. Extents of 1 do not count: [1, 1, D] is {D}.
  std::vector<index_t> shape{};
  // Any extents that keep the rows rows. Together with transposed also a stack [E, in, out / E].
  bool reshaped = false;
  // Stored one below the other in tensors numbered 0 .. parts - 1 by the last "{}" of the name; 0:
  // one tensor, without such a number.
  index_t parts = 0;
  float add = 0;  // added to each element of a vector; -1 where 1 + w is stored
};

/// One line a weight: our name, what a checkpoint calls it, and how it is stored there.
struct NameRule {
  std::string weight, stored;
  StoredAs as{};
};

/// Maps the names that visit() gives to those of a checkpoint. A rule for "layers.{}.x" is for
/// every layer: numbers between dots are looked up as "{}" where no rule has the number itself, and
/// fill the "{}" of the stored name in order; a stored name without "{}" is shared by all of them.
/// Rules in `layer` leave out the "layers.{}." of their weight. The last rule for a weight counts,
/// so that a family may take another's map and add what differs.
struct NameMap {
  std::vector<NameRule> model{}, layer{};
  std::vector<std::string>
      ignored{};  // endings of stored names that nobody needs; "x.*": beginnings

  bool ignores(std::string_view stored) const {
    return std::any_of(ignored.begin(), ignored.end(), [&](std::string_view part) {
      return part.ends_with('*') ? stored.starts_with(part.substr(0, part.size() - 1))
                                 : stored.ends_with(part);
    });
  }
  /// Adds all of another map; its rules take precedence.
  NameMap& operator+=(const NameMap& other) {
    model.insert(model.end(), other.model.begin(), other.model.end());
    layer.insert(layer.end(), other.layer.begin(), other.layer.end());
    ignored.insert(ignored.end(), other.ignored.begin(), other.ignored.end());
    return *this;
  }
  /// Stored names that begin with `from` begin with `to` instead.
  NameMap& replace_prefix(std::string_view from, std::string_view to) {
    for (auto* rules : {&model, &layer})
      for (NameRule& rule : *rules)
        if (rule.stored.starts_with(from)) rule.stored.replace(0, from.size(), to);
    return *this;
  }
  /// The map of a model that holds this one as a part: "encoder." makes "encoder.layers.{}.x" of
  /// the layer rule "x". Both prefixes go before every name.
  NameMap nested(const std::string& weight_prefix, const std::string& stored_prefix = "") const {
    NameMap map{.ignored = ignored};
    const auto take = [&](NameRule rule, const std::string& prefix) {
      rule.weight.insert(0, prefix);
      rule.stored.insert(0, stored_prefix);
      map.model.push_back(std::move(rule));
    };
    for (const NameRule& rule : model) take(rule, weight_prefix);
    for (const NameRule& rule : layer) take(rule, weight_prefix + "layers.{}.");
    return map;
  }
};

/// A line of a table of names, beginnings of ours and the checkpoint's.
struct NamePair {
  std::string_view weight, stored;
};
/// A rule for each line of a table: names are its beginnings with an ending each, `prefix` goes
/// before the stored ones.
inline void add_rules(std::vector<NameRule>& rules, std::span<const NamePair> table,
                      std::string_view prefix, std::string_view weight_ending,
                      std::string_view stored_ending) {
  for (const NamePair& line : table)
    rules.push_back({join(line.weight, weight_ending), join(prefix, line.stored, stored_ending)});
}
/// For products and embeddings: our "x" and "x_bias".
inline void add_products(std::vector<NameRule>& rules, std::span<const NamePair> table,
                         std::string_view prefix = {}) {
  add_rules(rules, table, prefix, "", ".weight");
  add_rules(rules, table, prefix, "_bias", ".bias");
}
/// For norms: our "x.gain" and "x.bias".
inline void add_norms(std::vector<NameRule>& rules, std::span<const NamePair> table,
                      std::string_view prefix = {}) {
  add_rules(rules, table, prefix, ".gain", ".weight");
  add_rules(rules, table, prefix, ".bias", ".bias");
}

/// The rules of a map by weight. Points into the map.
class NameTable {
 public:
  explicit NameTable(const NameMap& names) : model_(names.model), layer_(names.layer) {}
  NameTable(NameMap&&) = delete;

  /// The rule for a weight, its numbers in the stored name; a "{}" is left where it has parts.
  /// Throws ValueError if there is none.
  NameRule operator()(std::string_view weight) const {
    std::string pattern;
    std::vector<std::string_view> numbers;
    for (std::string_view rest = weight;;) {
      const std::string_view word = rest.substr(0, rest.find('.'));
      const bool number =
          !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
      if (number) numbers.push_back(word);
      pattern += number ? std::string_view("{}") : word;
      if (word.size() == rest.size()) break;
      pattern += '.';
      rest.remove_prefix(word.size() + 1);
    }
    const NameRule* rule = find(weight, pattern);
    if (rule == nullptr) fail<ValueError>("NameMap: no rule for the weight \"", weight, "\"");

    NameRule filled = *rule;
    const std::size_t part = rule->as.parts ? filled.stored.rfind("{}") : std::string::npos;
    std::size_t end = part == std::string::npos ? filled.stored.size() : part;
    std::size_t at = 0;
    for (const std::string_view number : numbers) {
      at = filled.stored.find("{}", at);
      if (at >= end) break;
      filled.stored.replace(at, 2, number);
      end = end + number.size() - 2;
      at += number.size();
    }
    return filled;
  }

 private:
  /// Rules in the order of their weights, those of one weight in the order of the map.
  struct Rules {
    const std::vector<NameRule>& rules;
    std::vector<std::size_t> order;

    explicit Rules(const std::vector<NameRule>& all)
        : rules(all), order(sorted_order(all.size(), [&](std::size_t i, std::size_t j) {
            const int sign = all[i].weight.compare(all[j].weight);
            return sign < 0 || (sign == 0 && i < j);
          })) {}
  };

  /// The last rule for a weight, or null.
  static const NameRule* find(const Rules& in, std::string_view weight) {
    std::size_t first = 0, last = in.order.size();  // the rules for what comes after it begin here
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (weight < in.rules[in.order[middle]].weight)
        last = middle;
      else
        first = middle + 1;
    }
    if (first == 0) return nullptr;
    const NameRule& rule = in.rules[in.order[first - 1]];
    return rule.weight == weight ? &rule : nullptr;
  }
  const NameRule* find(std::string_view weight, std::string_view pattern) const {
    constexpr std::string_view layers = "layers.";
    const bool in_layer = pattern.starts_with("layers.{}.");
    for (const std::string_view name : {weight, pattern}) {
      if (const NameRule* rule = find(model_, name)) return rule;
      if (!in_layer) continue;
      if (const NameRule* rule = find(layer_, name.substr(name.find('.', layers.size()) + 1)))
        return rule;
    }
    return nullptr;
  }

  Rules model_, layer_;
};

}  // namespace ashlar::inline ASHLAR_ABI
