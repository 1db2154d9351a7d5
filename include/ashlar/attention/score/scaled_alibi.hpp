// ScaledAlibi: ALiBi as Falcon has it, in bfloat16 and before the scale.
#pragma once

#include <ashlar/attention/score/none.hpp>
#include <ashlar/core/error.hpp>
#include <ashlar/core/math.hpp>
#include <ashlar/core/view.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// scale * (s + bias) with the bias slope[h] * k of the key's position, not of a distance: slope,
/// position and product are rounded to bfloat16, which a model was trained with and which shows.
/// s is the plain product q . k: attention's own scale is to be 1. The slopes stay the caller's.
/// Source: Falcon-RW (2023).
class ScaledAlibi {
 public:
  constexpr ScaledAlibi() = default;
  /// Throws ValueError unless the scale is above 0 and finite.
  ScaledAlibi(VectorView<const float> slopes, float scale) : slopes_(slopes.data()), scale_(scale) {
    if (!(scale > 0.f) || scale > 3.4028235e38f)
      fail<ValueError>("ScaledAlibi: scale is ", scale, ", expected a finite number above 0");
  }

  template <class V, class P>
  ASHLAR_HD V operator()(V s, index_t, index_t h, P, P k) const {
    using O = math::Ops<V>;
    const V bias = to_bfloat16(O::mul(to_bfloat16(V(slopes_[h])), to_bfloat16(V(k))));
    return O::mul(O::add(s, bias), V(scale_));
  }

 private:
  /// The nearest number of 8 significant bits, ties to even, without looking at bits (Veltkamp's
  /// splitting): the sum keeps 8 bits of x below those of x 2^n.
  template <class V>
  ASHLAR_HD static V to_bfloat16(V x) {
    using O = math::Ops<V>;
    constexpr bool wide = std::is_same_v<V, double>;
    const V sum = O::fma(x, O::set1(wide ? 0x1p45f : 0x1p16f), x);
    return O::sub(sum, O::sub(sum, x));
  }

  const float* slopes_ = nullptr;
  float scale_ = 1.f;
};
static_assert(ScorePolicy<ScaledAlibi>);

}  // namespace ashlar::inline ASHLAR_ABI
