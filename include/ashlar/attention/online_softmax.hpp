// The running maximum and sum of the online softmax, in powers of two, as every kernel forms them.
//
// Source: Milakov and Gimelshein 2018; Dao et al. 2022, FlashAttention.
#pragma once

#include <ashlar/core/math.hpp>
#include <cfloat>
#include <cmath>
#include <limits>

namespace ashlar::inline ASHLAR_ABI {

/// Maximum m of the log2 scores seen so far and the sum l of 2^(score - m). Starts empty: m = -inf.
template <class A>
struct SoftmaxState {
  A m = -std::numeric_limits<A>::infinity();
  A l = 0;
};

/// The finite value that scores are taken relative to: never -inf, so that nothing becomes inf -
/// inf.
template <class A>
ASHLAR_HD constexpr A softmax_base(A m) {
  constexpr A lowest =
      std::is_same_v<A, float> ? static_cast<A>(-FLT_MAX) : static_cast<A>(-DBL_MAX);
  return m > lowest ? m : lowest;
}

/// A score of natural units in log2 units, rounded by itself. What is finite stays finite: the
/// lowest float is often added in place of -inf.
template <class A>
ASHLAR_HD A log2_score(A s) {
  const A x = math::Ops<A>::fma(s, A(1.4426950408889634), A(0));
  constexpr A highest =
      std::is_same_v<A, float> ? static_cast<A>(FLT_MAX) : static_cast<A>(DBL_MAX);
  if (!(std::fabs(s) <= highest)) return s;
  return x > highest ? highest : x < -highest ? -highest : x;
}

/// Scales of two states that become one.
template <class A>
struct MergeScales {
  A first, second;
};

/// Adds `second` to `first`; outputs o merge as fma(first, o1, second * o2).
template <class A>
ASHLAR_HD MergeScales<A> merge(SoftmaxState<A>& first, const SoftmaxState<A>& second) {
  const A m = first.m > second.m ? first.m : second.m, base = softmax_base(m);
  const MergeScales<A> s{math::exp2_nonpositive(first.m - base),
                         math::exp2_nonpositive(second.m - base)};
  first.l = std::fma(s.first, first.l, s.second * second.l);
  first.m = m;
  return s;
}

/// Lets a sink, a logit (natural units) without a value, join the denominator. Returns the scale of
/// o.
template <class A>
ASHLAR_HD A add_sink(SoftmaxState<A>& state, A sink) {
  const SoftmaxState<A> s{math::Ops<A>::fma(sink, A(1.4426950408889634), A(0)), A(1)};
  return merge(state, s).first;
}

/// Natural log of the sum of exponentials; -inf for an empty state. In double: one number a row.
template <class A>
ASHLAR_HD double log_sum_exp(const SoftmaxState<A>& s) {
  if (s.l == 0) return -HUGE_VAL;  // a NaN stays one
  return static_cast<double>(s.m) * 0.69314718055994531 + std::log(static_cast<double>(s.l));
}

}  // namespace ashlar::inline ASHLAR_ABI
