// LayerNorm: y = (x - mean) / sqrt(variance + eps) * gain + bias.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/layer_norm.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Ba et al. 2016.
/// Shapes   x, y [M, D], gain [D], bias [D] where the config has one
struct LayerNorm {
  struct Config {
    float eps = 1e-5f;
    bool bias = true;
  };
  struct Weights {
    VectorView<const float> gain, bias;
  };
  static void visit(Weights& w, const Config& c, index_t width, auto&& f) {
    f("gain", w.gain, {width});
    if (c.bias) f("bias", w.bias, {width});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
    layer_norm(ctx, x, w.gain, w.bias, y, c.eps);
  }
};
static_assert(NormPolicy<LayerNorm>);

}  // namespace ashlar::inline ASHLAR_ABI
