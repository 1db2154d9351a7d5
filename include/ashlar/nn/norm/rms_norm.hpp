// RmsNorm: y = x / sqrt(mean(x^2) + eps) * gain, with the gain's rule as a type.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/rms_norm.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Zhang and Sennrich 2019. Gain is one of the rules of ops/rms_norm.hpp.
/// Shapes   x, y [M, D], gain [D]
template <class Gain>
struct BasicRmsNorm {
  struct Config {
    float eps = 1e-6f;
  };
  struct Weights {
    VectorView<const float> gain;
  };
  static void visit(Weights& w, const Config&, index_t width, auto&& f) {
    f("gain", w.gain, {width});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
    rms_norm<Gain>(ctx, x, w.gain, y, c.eps);
  }
};

struct RmsNorm : BasicRmsNorm<gain::AfterRounding> {};
static_assert(NormPolicy<RmsNorm>);

}  // namespace ashlar::inline ASHLAR_ABI
