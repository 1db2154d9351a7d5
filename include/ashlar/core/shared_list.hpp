// SharedList: numbers of a configuration that many layers have in common.
#pragma once

#include <algorithm>
#include <ashlar/config.hpp>
#include <initializer_list>
#include <memory>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// A list that does not change. Copies share its memory, so that a list in the configuration of one
/// layer costs nothing in those of thousands.
template <class T>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<T> items)
      : items_(std::make_shared<const std::vector<T>>(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  const T* data() const { return items_ ? items_->data() : nullptr; }
  std::size_t size() const { return items_ ? items_->size() : 0; }
  bool empty() const { return size() == 0; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](std::size_t i) const { return (*items_)[i]; }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.items_ == b.items_ ||
           (a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()));
  }

 private:
  std::shared_ptr<const std::vector<T>> items_;
};

}  // namespace ashlar::inline ASHLAR_ABI
