// DecoderBlock: a spec's mixer and feed-forward in a spec's wiring.
#pragma once

#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// One layer of a transformer, composed from the types of a spec. Holds nothing: configuration and
/// weights are plain structs, the state (a KV cache, say) belongs to the caller.
///
/// Shapes   x [B T, D], in place
template <BlockSpec Spec>
struct DecoderBlock {
  using Wiring = typename Spec::Wiring::template Block<Spec>;
  using Norm = typename Spec::Norm;
  using Mixer = typename Spec::Mixer;
  using Ffn = typename Spec::Ffn;
  using Epilogue = EpilogueOf<Spec>;
  using State = typename Mixer::State;

  struct Config {
    Dims dims;
    typename Norm::Config norm{};
    typename Spec::Residual::Config residual{};
    typename Mixer::Config mixer{};
    typename Ffn::Config ffn{};
    typename Epilogue::Config epilogue{};
  };
  struct Weights {
    typename Wiring::Weights wiring;
    typename Mixer::Weights mixer;
    typename Ffn::Weights ffn;
    typename Epilogue::Weights epilogue;
  };

  /// Names every weight: f(name, view, extents).
  static void visit(Weights& w, const Config& c, auto&& f) {
    Wiring::visit(w.wiring, c, f);
    Mixer::visit(w.mixer, c.mixer, c.dims, prefixed("mixer.", f));
    Ffn::visit(w.ffn, c.ffn, c.dims, prefixed("ffn.", f));
    Epilogue::visit(w.epilogue, c.epilogue, c.dims, prefixed("epilogue.", f));
  }
  /// Room for `capacity` tokens of each of `batch` sequences.
  static State make_state(const Config& c, index_t batch, index_t capacity) {
    return Mixer::make_state(c.mixer, c.dims, batch, capacity);
  }
  /// x = block(x). With a state the rows follow the tokens that it holds; with nullptr they are
  /// all. `side` is this layer's input beside the stream, for an epilogue that wants one. Throws
  /// ShapeError unless x is [B T, D]. After an error x is undefined and the state may hold rows of
  /// the call: truncate it to its length before.
  template <Backend B, Element T>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, const BatchOf<B>& batch,
                      StateOf<State, B, T>* state, MatrixView<T> x,
                      std::type_identity_t<MatrixView<const T>> side = {}) {
    expect_shape("DecoderBlock", "x", x, {batch.rows(), c.dims.d_model});
    Wiring::apply(
        ctx, c, w.wiring, x,
        [&](MatrixView<const T> h, MatrixView<T> y) {
          Mixer::apply(ctx, c.mixer, w.mixer, c.dims, batch, state, h, y);
        },
        [&](MatrixView<const T> h, MatrixView<T> y) {
          Ffn::apply(ctx, c.ffn, w.ffn, c.dims, h, y);
        });
    Epilogue::apply(ctx, c.epilogue, w.epilogue, c.dims, side, x);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
