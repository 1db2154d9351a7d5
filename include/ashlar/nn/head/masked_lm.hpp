// MaskedLmHead: logits of hidden tokens.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/activation.hpp>
#include <ashlar/ops/linear.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// logits = norm(f(x W^T + b)) E^T + c with the embedding table E, or a decoder of its own.
/// Source: Devlin et al. 2018, BERT.
/// Shapes   x [M, D], weight [D, D], bias [D] where the config has one, logits [M, V]
template <NormPolicy Norm>
struct MaskedLmHead {
  struct Config {
    bool on = false;
    bool dense_bias = true, decoder_bias = true, tied = true;
    ActivationKind activation = ActivationKind::gelu;
    typename Norm::Config norm{};
  };
  struct Weights {
    WeightMatrix dense, decoder;
    VectorView<const float> dense_bias, decoder_bias;
    typename Norm::Weights norm;
  };
  static void visit(Weights& w, const Config& c, index_t vocabulary, index_t width, auto&& f) {
    if (!c.on) return;
    f("dense", w.dense, {width, width});
    if (c.dense_bias) f("dense_bias", w.dense_bias, {width});
    Norm::visit(w.norm, c.norm, width, prefixed("norm.", f));
    if (!c.tied) f("decoder", w.decoder, {vocabulary, width});
    if (c.decoder_bias) f("decoder_bias", w.decoder_bias, {vocabulary});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w,
                    const WeightMatrix& embedding, MatrixView<const T> x, MatrixView<T> logits) {
    Scratch::Frame frame(ctx.scratch());
    const auto h = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
    linear(ctx, x, w.dense, w.dense_bias, h);
    activation(ctx, c.activation, MatrixView<const T>(h), h);
    Norm::apply(ctx, c.norm, w.norm, MatrixView<const T>(h), h);
    linear(ctx, MatrixView<const T>(h), c.tied ? embedding : w.decoder, w.decoder_bias, logits);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
