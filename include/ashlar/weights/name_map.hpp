// NameMap: where each weight of a model lies in a checkpoint.
#pragma once

#include <ashlar/core/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// A stored tensor, or some of its rows.
struct TensorRecipe {
  std::string name;
  index_t first_row = 0;
  index_t total_rows = 0;   // rows of the whole tensor where it is fused; 0: it is not
  bool transposed = false;  // stored as [in, out]
};

/// One line a weight: our name, and what a checkpoint calls it.
struct NameRule {
  std::string_view weight, stored;
  index_t first_row = 0, total_rows = 0;
  bool transposed = false;
};

/// Maps the names that visit() gives to those of a checkpoint. Weights of layer 7, "layers.7.x",
/// are looked up as "x" among the layer rules; "{}" in the stored name stands for the 7.
struct NameMap {
  std::vector<NameRule> model{}, layer{};
  std::vector<std::string_view> ignored{};  // endings of stored names that nobody needs

  TensorRecipe operator()(std::string_view weight) const {
    std::string_view rest = weight, number;
    constexpr std::string_view layers = "layers.";
    if (weight.starts_with(layers)) {
      rest.remove_prefix(layers.size());
      number = rest.substr(0, rest.find('.'));
      rest.remove_prefix(number.size() + 1);
    }
    for (const NameRule& rule : number.empty() ? model : layer) {
      if (rule.weight != rest) continue;
      TensorRecipe recipe{std::string(rule.stored), rule.first_row, rule.total_rows,
                          rule.transposed};
      if (const auto at = recipe.name.find("{}"); at != std::string::npos)
        recipe.name.replace(at, 2, number);
      return recipe;
    }
    fail<ValueError>("NameMap: no rule for the weight \"", weight, "\"");
  }
  bool ignores(std::string_view stored) const {
    for (const std::string_view ending : ignored)
      if (stored.ends_with(ending)) return true;
    return false;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
