// Mlp: the plain feed-forward, y = f(x U^T + b) D^T + c.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/activation.hpp>
#include <ashlar/ops/linear.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Vaswani et al. 2017.
/// Act is a type, as act::Gelu, or act::Chosen where a checkpoint names it.
/// Shapes   x, y [M, D], up [F, D], down [D, F], biases [F], [D] where the config has them
template <ActivationChoice Act>
struct Mlp {
  struct Config {
    bool bias = true;
    ActivationField<Act> activation{};  // a number to be set for act::Chosen
  };
  struct Weights {
    WeightMatrix up, down;
    VectorView<const float> up_bias, down_bias;
  };
  static void visit(Weights& w, const Config& c, const Dims& d, auto&& f) {
    f("up", w.up, {d.d_ff, d.d_model});
    f("down", w.down, {d.d_model, d.d_ff});
    if (!c.bias) return;
    f("up_bias", w.up_bias, {d.d_ff});
    f("down_bias", w.down_bias, {d.d_model});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                    MatrixView<const T> x, MatrixView<T> y) {
    Scratch::Frame frame(ctx.scratch());
    const auto hidden = frame.tensor<T, 2>({x.extent(0), d.d_ff});
    linear(ctx, x, w.up, w.up_bias, hidden);
    activation(ctx, c.activation, MatrixView<const T>(hidden), hidden);
    linear(ctx, MatrixView<const T>(hidden), w.down, w.down_bias, y);
  }
};
static_assert(FfnPolicy<Mlp<act::GeluTanh>>);

}  // namespace ashlar::inline ASHLAR_ABI
