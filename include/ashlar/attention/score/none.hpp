// Scores: what may happen to scale * (q . k) before the mask; NoScore leaves it alone.
#pragma once

#include <ashlar/core/types.hpp>
#include <concepts>
#include <type_traits>

namespace ashlar::inline ASHLAR_ABI {

/// A score is a small value type, called by every attention kernel with the scaled product s in
/// natural units, the sequence, the query head and the absolute positions:
///
///   float operator()(float s, index_t b, index_t h, index_t q, index_t k) const
///
/// As a template `V operator()(V s, index_t b, index_t h, P q, P k)`, written with math::Ops<V>, it
/// runs on vectors too (V and P are then simd::Vf); any other one is called element by element. For
/// equal bits on all kernels no product may feed a sum: write math::Ops<V>::fma.
template <class S>
concept ScorePolicy = std::is_trivially_copyable_v<S> &&
    requires(const S& score, float s, index_t i) {
  { score(s, i, i, i, i) } -> std::same_as<float>;
};

struct NoScore {
  template <class V, class P>
  ASHLAR_HD constexpr V operator()(V s, index_t, index_t, P, P) const {
    return s;
  }
};
static_assert(ScorePolicy<NoScore>);

namespace detail {
/// A score in the type that the kernel sums in, where the functor has that type; else in float.
template <class A, ScorePolicy S>
ASHLAR_HD A apply_score(const S& score, A s, index_t b, index_t h, index_t q, index_t k) {
  if constexpr (requires { requires std::is_same_v<decltype(score(s, b, h, q, k)), A>; })
    return score(s, b, h, q, k);
  else
    return static_cast<A>(score(static_cast<float>(s), b, h, q, k));
}
}  // namespace detail

}  // namespace ashlar::inline ASHLAR_ABI
