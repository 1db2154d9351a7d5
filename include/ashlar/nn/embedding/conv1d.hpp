// Conv1d: a convolution over time, as a product with the columns that it sees.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/linear.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// y[b][t][n] = bias[n] + sum over c, k of weight[n][c W + k] x[b][t stride + k - padding][c], with
/// zeros outside of x.
/// Shapes   x [B S, C], weight [N, C W] (stored [N, C, W]), bias [N], y [B T, N] with
///          T = config.tokens(S)
struct Conv1d {
  struct Config {
    index_t channels = 0, outputs = 0;  // C, N
    index_t width = 3, stride = 1, padding = 1;

    index_t tokens(index_t inputs) const { return (inputs + 2 * padding - width) / stride + 1; }
  };
  struct Weights {
    WeightMatrix weight;
    VectorView<const float> bias;
  };
  static void visit(Weights& w, const Config& c, auto&& f) {
    f("weight", w.weight, {c.outputs, c.channels * c.width});
    f("bias", w.bias, {c.outputs});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, index_t batch,
                    MatrixView<const T> x, MatrixView<T> y) {
    const index_t inputs = batch ? x.extent(0) / batch : 0, tokens = c.tokens(inputs);
    expect_shape("Conv1d", "x", x, {batch * inputs, c.channels});
    expect_shape("Conv1d", "y", y, {batch * tokens, c.outputs});
    Scratch::Frame frame(ctx.scratch());
    const auto columns = frame.tensor<T, 2>({batch * tokens, c.channels * c.width});
    parallel_for(ctx.executor(), batch * tokens, [&](index_t m, int) {
      const index_t b = m / tokens, first = m % tokens * c.stride - c.padding;
      for (index_t k = 0; k < c.width; ++k) {
        const index_t s = first + k;
        const bool inside = s >= 0 && s < inputs;
        for (index_t i = 0; i < c.channels; ++i)
          columns(m, i * c.width + k) = inside ? x(b * inputs + s, i) : T(0);
      }
    });
    linear(ctx, MatrixView<const T>(columns), w.weight, w.bias, y);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
