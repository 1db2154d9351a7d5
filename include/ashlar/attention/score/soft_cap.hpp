// SoftCap: scores bounded smoothly.
#pragma once

#include <ashlar/attention/score/none.hpp>
#include <ashlar/core/error.hpp>
#include <ashlar/core/math.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// cap * tanh(s / cap), before the mask; cap 0 means off. Source: Gemma 2 (2024).
class SoftCap {
 public:
  constexpr SoftCap() = default;
  /// Throws ValueError for a negative or non-finite cap (V13).
  explicit SoftCap(float cap) : cap_(cap) {
    if (!(cap >= 0.f) || cap > 3.4028235e38f)
      fail<ValueError>("SoftCap: cap is ", cap, ", expected a finite number of at least 0");
  }
  ASHLAR_HD constexpr float cap() const { return cap_; }

  template <class V, class P>
  ASHLAR_HD V operator()(V s, index_t, index_t, P, P) const {
    if (cap_ == 0.f) return s;
    return V(cap_) * math::tanh(V(s / V(cap_)));
  }

 private:
  float cap_ = 0.f;
};
static_assert(ScorePolicy<SoftCap>);

}  // namespace ashlar::inline ASHLAR_ABI
