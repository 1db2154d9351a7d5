// Finding the named items of a file.
#pragma once

#include <algorithm>
#include <ashlar/core/types.hpp>
#include <ashlar/weights/sorted_order.hpp>
#include <string_view>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// Binary search over items with a member `name`, which stay where they are. A hostile file cannot
/// make it slow, as it could a hash table. Holds positions only: copy and move it with the items.
class NameIndex {
 public:
  NameIndex() = default;

  /// Indexes all items. Returns the position of one whose name was there before, or items.size().
  /// Cost: n log n comparisons.
  template <class Items>
  std::size_t build(const Items& items) {
    order_ = sorted_order(items.size(), [&](std::size_t a, std::size_t b) {
      const int sign = std::string_view(items[a].name).compare(items[b].name);
      return sign < 0 || (sign == 0 && a < b);
    });
    for (std::size_t i = 1; i < order_.size(); ++i)
      if (items[order_[i - 1]].name == items[order_[i]].name) return order_[i];
    return items.size();
  }

  /// The item of this name in the items that build() saw, or null.
  template <class Items>
  const typename Items::value_type* find(const Items& items, std::string_view name) const {
    const auto at = std::lower_bound(
        order_.begin(), order_.end(), name,
        [&](std::size_t i, std::string_view wanted) { return items[i].name < wanted; });
    return at != order_.end() && items[*at].name == name ? &items[*at] : nullptr;
  }

 private:
  std::vector<std::size_t> order_;
};

}  // namespace ashlar::inline ASHLAR_ABI
