// RmsNorm: y = x / sqrt(mean(x^2) + eps) * gain, with the gain's rule as a type.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/rms_norm.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Zhang and Sennrich 2019. Gain is one of the rules of ops/norm_gain.hpp.
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
    if constexpr (!std::is_same_v<Gain, gain::None>) f("gain", w.gain, {width});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
    rms_norm<Gain>(ctx, x, w.gain, y, c.eps);
  }
  /// The weights of elements [first, first + width): of one head, where each has its own.
  static Weights part(const Weights& w, index_t first, index_t width) {
    return {w.gain.empty() ? w.gain : w.gain.slice(0, first, first + width)};
  }
};

/// The product after rounding: Llama and most of its kin. T5's norm too.
struct RmsNorm : BasicRmsNorm<gain::AfterRounding> {};
/// Weights are stored less 1: Gemma 1 to 3, Qwen3-Next.
struct GemmaRmsNorm : BasicRmsNorm<gain::PlusOne> {};
/// The product in f32, rounded once: Gemma 4, gpt-oss.
struct RmsNormRoundedOnce : BasicRmsNorm<gain::BeforeRounding> {};
/// No weights: the values of Gemma 4.
struct WeightlessRmsNorm : BasicRmsNorm<gain::None> {};
static_assert(NormPolicy<RmsNorm> && NormPolicy<GemmaRmsNorm> && NormPolicy<RmsNormRoundedOnce> &&
              NormPolicy<WeightlessRmsNorm>);

}  // namespace ashlar::inline ASHLAR_ABI
