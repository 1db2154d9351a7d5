// Helpers for visitors of weights: f(name, view, extents).
#pragma once

#include <ashlar/core/types.hpp>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ashlar::inline ASHLAR_ABI {

/// A visitor that puts a prefix before every name and hands on to f. Both must outlive it.
template <class F>
struct Prefixed {
  std::string_view prefix;
  F& f;

  /// Not inlined: a model's visit() has many calls of it.
  template <class View>
  ASHLAR_NOINLINE void operator()(std::string_view name, View& view,
                                  std::initializer_list<index_t> extents) const {
    std::string full(prefix);
    full += name;
    f(std::string_view(full), view, extents);
  }
};
template <class F>
Prefixed<F> prefixed(std::string_view prefix, F& f) {
  return {prefix, f};
}
template <std::same_as<std::string> Temporary, class F>
void prefixed(Temporary&& prefix, F& f) = delete;  // it would not outlive the visitor

}  // namespace ashlar::inline ASHLAR_ABI
