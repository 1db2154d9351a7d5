// CrossBlock: a decoder's layer with a sublayer in the middle that looks at an encoder's states.
#pragma once

#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// A block's spec with a Cross beside the Mixer (nn/mixer/cross_attention.hpp) and a serial Wiring.
template <class S>
concept CrossBlockSpec = BlockSpec<S> && requires {
  typename S::Cross::State;
  typename S::Wiring::template Block<S>::Step;
};

/// Self-attention, cross-attention, feed-forward: three sublayers, wired alike.
/// Source: Vaswani et al. 2017.
///
/// Shapes   x [B T, D], in place
template <CrossBlockSpec Spec>
struct CrossBlock {
  using Step = typename Spec::Wiring::template Block<Spec>::Step;
  using Norm = typename Spec::Norm;
  using Mixer = typename Spec::Mixer;
  using Cross = typename Spec::Cross;
  using Ffn = typename Spec::Ffn;

  struct Config {
    Dims dims;
    typename Norm::Config norm{};
    typename Spec::Residual::Config residual{};
    typename Mixer::Config mixer{};
    typename Cross::Config cross{};
    typename Ffn::Config ffn{};
  };
  struct Weights {
    typename Step::Weights mixer_step, cross_step, ffn_step;
    typename Mixer::Weights mixer;
    typename Cross::Weights cross;
    typename Ffn::Weights ffn;
  };
  struct State {
    typename Mixer::State mixer;
    typename Cross::State cross;
  };

  /// Names every weight: f(name, view, extents).
  static void visit(Weights& w, const Config& c, auto&& f) {
    Step::visit(w.mixer_step, c, c.dims.d_model, prefixed("mixer_", f));
    Mixer::visit(w.mixer, c.mixer, c.dims, prefixed("mixer.", f));
    Step::visit(w.cross_step, c, c.dims.d_model, prefixed("cross_", f));
    Cross::visit(w.cross, c.cross, c.dims, prefixed("cross.", f));
    Step::visit(w.ffn_step, c, c.dims.d_model, prefixed("ffn_", f));
    Ffn::visit(w.ffn, c.ffn, c.dims, prefixed("ffn.", f));
  }
  /// Room for `capacity` tokens, and for `memory` of the encoder's, in each of `batch` sequences.
  static State make_state(const Config& c, index_t batch, index_t capacity, index_t memory) {
    return {Mixer::make_state(c.mixer, c.dims, batch, capacity),
            Cross::make_state(c.cross, c.dims, batch, memory)};
  }
  /// x = block(x), after the tokens that the state holds. Throws ShapeError unless x is [B T, D].
  template <Backend B, Element T>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, const TokenBatch& batch,
                      State& state, MatrixView<T> x) {
    expect_shape("CrossBlock", "x", x, {batch.rows(), c.dims.d_model});
    Step::apply(ctx, c, w.mixer_step, x, [&](MatrixView<const T> h, MatrixView<T> y) {
      Mixer::apply(ctx, c.mixer, w.mixer, c.dims, batch, &state.mixer, h, y);
    });
    Step::apply(ctx, c, w.cross_step, x, [&](MatrixView<const T> h, MatrixView<T> y) {
      Cross::apply(ctx, c.cross, w.cross, c.dims, batch, state.cross, h, y);
    });
    Step::apply(ctx, c, w.ffn_step, x, [&](MatrixView<const T> h, MatrixView<T> y) {
      Ffn::apply(ctx, c.ffn, w.ffn, c.dims, h, y);
    });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
