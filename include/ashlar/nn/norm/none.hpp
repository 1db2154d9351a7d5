// NoNorm: the place of a norm left empty. Costs nothing: callers skip it at compile time.
#pragma once

#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct NoNorm {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, MatrixView<const T> x,
                    MatrixView<T> y) {
    for (index_t m = 0; x.data() != y.data() && m < x.extent(0); ++m)
      for (index_t i = 0; i < x.extent(1); ++i) y(m, i) = x(m, i);
  }
};
static_assert(NormPolicy<NoNorm>);

}  // namespace ashlar::inline ASHLAR_ABI
