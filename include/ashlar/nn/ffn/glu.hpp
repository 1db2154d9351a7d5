// Glu: the gated feed-forward, y = (f(x G^T) * (x U^T)) D^T.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/activation.hpp>
#include <ashlar/ops/linear.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Shazeer 2020.
/// Act is a type, as act::Gelu, or act::Chosen where a checkpoint names it.
/// Shapes   x, y [M, D], gate and up [F, D], down [D, F], biases [F], [F], [D] where the config has
/// them
template <ActivationChoice Act>
struct Glu {
  struct Config {
    bool bias = false;
    ActivationField<Act> activation{};  // a number to be set for act::Chosen
  };
  struct Weights {
    WeightMatrix gate, up, down;
    VectorView<const float> gate_bias, up_bias, down_bias;
  };
  static void visit(Weights& w, const Config& c, const Dims& d, auto&& f) {
    f("gate", w.gate, {d.d_ff, d.d_model});
    f("up", w.up, {d.d_ff, d.d_model});
    f("down", w.down, {d.d_model, d.d_ff});
    if (!c.bias) return;
    f("gate_bias", w.gate_bias, {d.d_ff});
    f("up_bias", w.up_bias, {d.d_ff});
    f("down_bias", w.down_bias, {d.d_model});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                    MatrixView<const T> x, MatrixView<T> y) {
    Scratch::Frame frame(ctx.scratch());
    const auto gate = frame.tensor<T, 2>({x.extent(0), d.d_ff});
    const auto up = frame.tensor<T, 2>({x.extent(0), d.d_ff});
    linear(ctx, x, w.gate, w.gate_bias, gate);
    linear(ctx, x, w.up, w.up_bias, up);
    glu(ctx, c.activation, MatrixView<const T>(gate), MatrixView<const T>(up), gate);
    linear(ctx, MatrixView<const T>(gate), w.down, w.down_bias, y);
  }
};

/// silu as the gate: Llama and most of its kin.
struct SwiGlu : Glu<act::Silu> {};
static_assert(FfnPolicy<SwiGlu>);

}  // namespace ashlar::inline ASHLAR_ABI
