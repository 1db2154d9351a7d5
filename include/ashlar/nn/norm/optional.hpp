// OptionalNorm: a norm, or none where the configuration says so.
#pragma once

#include <ashlar/nn/norm/none.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Shapes   as Norm's
template <NormPolicy Norm>
struct OptionalNorm {
  struct Config {
    bool on = true;
    typename Norm::Config norm{};
  };
  using Weights = typename Norm::Weights;
  static void visit(Weights& w, const Config& c, index_t width, auto&& f) {
    if (c.on) Norm::visit(w, c.norm, width, f);
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
    if (c.on)
      Norm::apply(ctx, c.norm, w, x, y);
    else
      NoNorm::apply(ctx, {}, {}, x, y);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
