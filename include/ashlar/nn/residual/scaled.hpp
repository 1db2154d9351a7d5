// ScaledResidual: x += factor * branch with one number of the config.
#pragma once

#include <algorithm>
#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Granite 3 (2024), residual_multiplier.
/// Shapes   branch, x [M, D]
struct ScaledResidual {
  struct Config {
    float factor = 1.f;
  };
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights&, MatrixView<const T> branch,
                    MatrixView<T> x) {
    static_assert(B::space == MemorySpace::host,
                  "ashlar: ScaledResidual is not available on a device");
    Scratch::Frame frame(ctx.scratch());
    const index_t width = x.extent(1);
    float* factors = frame.get<float>(width);
    std::fill_n(factors, width, c.factor);
    residual_add(ctx, branch, VectorView<const float>(factors, {width}), x);
  }
};
static_assert(ResidualPolicy<ScaledResidual>);

}  // namespace ashlar::inline ASHLAR_ABI
