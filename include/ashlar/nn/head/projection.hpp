// Projection and Pooler: the plain heads, one product each.
#pragma once

#include <ashlar/core/math.hpp>
#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/linear.hpp>
#include <ashlar/ops/map.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// y = x W^T + bias: a classifier, CLIP's projections.
/// Shapes   x [M, D], weight [N, D], bias [N] where the config has one, y [M, N]
struct Projection {
  struct Config {
    index_t rows = 0;  // 0: the model has no such head
    bool bias = true;
  };
  struct Weights {
    WeightMatrix weight;
    VectorView<const float> bias;
  };
  static void visit(Weights& w, const Config& c, index_t width, auto&& f) {
    if (c.rows == 0) return;
    f("weight", w.weight, {c.rows, width});
    if (c.bias) f("bias", w.bias, {c.rows});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config&, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
    linear(ctx, x, w.weight, w.bias, y);
  }
};

/// y = tanh(x W^T + bias) of the first token. Source: Devlin et al. 2018, BERT.
/// Shapes   x, y [B, D], weight [D, D], bias [D]
struct Pooler {
  struct Config {
    bool on = false;
  };
  using Weights = Projection::Weights;
  static void visit(Weights& w, const Config& c, index_t width, auto&& f) {
    if (c.on) Projection::visit(w, {.rows = width}, width, f);
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config&, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
    linear(ctx, x, w.weight, w.bias, y);
    map(ctx, Tanh{}, y);
  }

 private:
  struct Tanh {
    template <class V>
    V operator()(V x) const {
      return math::tanh(x);
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI
