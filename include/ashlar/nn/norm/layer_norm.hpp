// LayerNorm: y = (x - mean) / sqrt(variance + eps) * gain + bias, with the gain's rule as a type.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/layer_norm.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Ba et al. 2016. Gain is a rule of ops/norm_gain.hpp that has a `factor`.
/// Shapes   x, y [M, D], gain [D], bias [D] where the config has one
template <class Gain>
struct BasicLayerNorm {
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
    layer_norm<Gain>(ctx, x, w.gain, w.bias, y, c.eps);
  }
  /// The weights of elements [first, first + width): of one head, where each has its own.
  static Weights part(const Weights& w, index_t first, index_t width) {
    const auto of = [&](VectorView<const float> v) {
      return v.empty() ? v : v.slice(0, first, first + width);
    };
    return {of(w.gain), of(w.bias)};
  }
};

struct LayerNorm : BasicLayerNorm<gain::BeforeRounding> {};
/// Weights are stored less 1: Nemotron.
struct LayerNorm1p : BasicLayerNorm<gain::PlusOne> {};
/// No weights: OLMo 1.
struct WeightlessLayerNorm {
  struct Config {
    float eps = 1e-5f;
  };
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights&, MatrixView<const T> x,
                    MatrixView<T> y) {
    layer_norm(ctx, x, {}, {}, y, c.eps);
  }
};
static_assert(NormPolicy<LayerNorm> && NormPolicy<LayerNorm1p> && NormPolicy<WeightlessLayerNorm>);

}  // namespace ashlar::inline ASHLAR_ABI
