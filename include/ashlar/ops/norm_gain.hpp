// What a norm's weight does to the normalised value, as types.
#pragma once

#include <ashlar/core/dtype.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// How the normalised value and the gain become the result; which one is a property of the family a
/// model was trained with, and shows in 16-bit activations (V9). `apply` is what rms_norm calls: T
/// is what the result is rounded to, V is a float or a vector. `factor`, in the rules that have
/// one, is what multiplies the value in layer_norm, where gain and bias are one fma.
namespace gain {
/// w * T(x): rounded before the product. Llama, and everything that does not say otherwise; T5,
/// whose module rounds to the type of its weights, with activations and weights of one type.
struct AfterRounding {
  template <class T, class V>
  ASHLAR_HD static V apply(V x, V w) {
    return round_to<T>(x) * w;
  }
};
/// w * x: rounded once. gpt-oss, Gemma 4.
struct BeforeRounding {
  template <class T, class V>
  ASHLAR_HD static V apply(V x, V w) {
    return x * w;
  }
  template <class V>
  ASHLAR_HD static V factor(V w) {
    return w;
  }
};
/// (1 + w) * x, the sum in f32: rounded once. Gemma 1 to 3, Nemotron.
struct PlusOne {
  template <class T, class V>
  ASHLAR_HD static V apply(V x, V w) {
    return x * (V(1.f) + w);
  }
  template <class V>
  ASHLAR_HD static V factor(V w) {
    return V(1.f) + w;
  }
};
/// x: a norm without weights. Gemma 4's values, the router of its experts.
struct None {
  template <class T, class V>
  ASHLAR_HD static V apply(V x, V) {
    return x;
  }
};
}  // namespace gain

}  // namespace ashlar::inline ASHLAR_ABI
