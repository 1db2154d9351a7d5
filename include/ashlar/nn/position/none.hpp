// NoPosition: queries and keys, or embeddings, stay as they are.
#pragma once

#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct NoPosition {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const BatchOf<B>&, TensorView<T, 3>) {}
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, const BatchOf<B>&, MatrixView<T>) {}
};
static_assert(PositionPolicy<NoPosition> && InputPositionPolicy<NoPosition>);

}  // namespace ashlar::inline ASHLAR_ABI
