// Helpers for visitors of weights: f(name, view, extents).
#pragma once

#include <ashlar/core/types.hpp>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ashlar::inline ASHLAR_ABI {

namespace detail {
/// Not inlined: visitors have many calls of it.
ASHLAR_NOINLINE inline std::string with_prefix(const std::string& prefix, std::string_view name) {
  std::string text;
  text.reserve(prefix.size() + name.size());
  text += prefix;
  text += name;
  return text;
}
}  // namespace detail

/// A visitor that puts a prefix before every name and hands on to f.
template <class F>
auto prefixed(std::string prefix, F& f) {
  return [prefix = std::move(prefix), &f](std::string_view name, auto& view,
                                          std::initializer_list<index_t> extents) {
    f(detail::with_prefix(prefix, name), view, extents);
  };
}

}  // namespace ashlar::inline ASHLAR_ABI
