// Scores in sequence: a >> b applies b to what a gives.
#pragma once

#include <ashlar/attention/score/none.hpp>

namespace ashlar::inline ASHLAR_ABI {

template <ScorePolicy A, ScorePolicy B>
struct ScoreSequence {
  A a;
  B b;

  template <class V, class P>
  ASHLAR_HD V operator()(V s, index_t batch, index_t head, P q, P k) const requires requires {
    b(a(s, batch, head, q, k), batch, head, q, k);
  }
  { return b(a(s, batch, head, q, k), batch, head, q, k); }
};

/// The order of the field is softcap, then bias: SoftCap{50.f} >> Alibi{slopes}.
template <ScorePolicy A, ScorePolicy B>
ASHLAR_HD constexpr ScoreSequence<A, B> operator>>(A a, B b) {
  return {a, b};
}

}  // namespace ashlar::inline ASHLAR_ABI
