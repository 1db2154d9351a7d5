// What a mask says of a rectangle of queries and keys.
#pragma once

#include <ashlar/core/types.hpp>
#include <concepts>
#include <type_traits>

namespace ashlar::inline ASHLAR_ABI {

/// skip: no query sees a key of the tile. full: every query sees every key. partial: ask keep().
/// A classification may be conservative: `partial` is always a right answer.
enum class TileKind { skip, partial, full };

/// A mask is a small value type that every attention kernel calls, on every backend:
///
///   bool keep(index_t b, index_t h, index_t q, index_t k) const
///       whether query head h of sequence b at absolute position q sees the key at position k
///   TileKind classify(index_t b, index_t h, index_t q0, index_t q1, index_t k0, index_t k1) const
///       for queries q0 <= q < q1 and keys k0 <= k < k1
///
/// A mask whose keep() is a template over the type of q and k, and returns what comparisons of that
/// type return, is evaluated on vectors of positions (CausalMask shows it); any other one is asked
/// element by element, in partial tiles only.
template <class M>
concept MaskPolicy = std::is_trivially_copyable_v<M> && requires(const M& m, index_t i) {
  { m.keep(i, i, i, i) } -> std::convertible_to<bool>;
  { m.classify(i, i, i, i, i, i) } -> std::same_as<TileKind>;
};

namespace detail {
/// A position constant in the type of positions: index_t, or a vector of floats.
template <class P>
ASHLAR_HD constexpr P position(index_t value) {
  if constexpr (std::is_same_v<P, index_t>)
    return value;
  else
    return P(static_cast<float>(value));
}
}  // namespace detail

}  // namespace ashlar::inline ASHLAR_ABI
