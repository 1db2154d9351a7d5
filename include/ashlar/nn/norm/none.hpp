// NoNorm: the place of a norm left empty. Costs nothing: callers skip it at compile time.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/activation.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct NoNorm {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config&, const Weights&, MatrixView<const T> x,
                    MatrixView<T> y) {
    if (x.data() != y.data()) activation<act::Identity>(ctx, x, y);
  }
};
static_assert(NormPolicy<NoNorm>);

}  // namespace ashlar::inline ASHLAR_ABI
