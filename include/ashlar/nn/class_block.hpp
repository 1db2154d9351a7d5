// ClassBlock: a layer that changes the class token only, by looking at the patches.
#pragma once

#include <ashlar/nn/mixer/cross_attention.hpp>
#include <ashlar/nn/wiring/serial.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Class-attention. Source: Touvron et al. 2021, CaiT.
///
///   u = norm([class; patches]);  class += scale * attention(query u_0, keys and values u)
///   class += scale' * ffn(norm'(class))
///
/// Shapes   x [B, D], in place; patches [B P, D]
template <BlockSpec Spec>
struct ClassBlock {
  using Norm = typename Spec::Norm;
  using Ffn = typename Spec::Ffn;
  using Residual = typename Spec::Residual;
  using Cross = CrossAttention<>;
  using FfnStep = Sublayer<Norm, NoNorm, NoNorm, Residual>;

  struct Config {
    Dims dims;
    typename Norm::Config norm{};
    typename Residual::Config residual{};
    Cross::Config mixer{};
    typename Ffn::Config ffn{};
  };
  struct Weights {
    typename Norm::Weights mixer_norm;
    typename Residual::Weights mixer_residual;
    Cross::Weights mixer;
    typename FfnStep::Weights ffn_step;
    typename Ffn::Weights ffn;
  };
  static void visit(Weights& w, const Config& c, auto&& f) {
    Norm::visit(w.mixer_norm, c.norm, c.dims.d_model, prefixed("mixer_norm.", f));
    Residual::visit(w.mixer_residual, c.residual, c.dims.d_model, prefixed("mixer_residual.", f));
    Cross::visit(w.mixer, c.mixer, c.dims, prefixed("mixer.", f));
    FfnStep::visit(w.ffn_step, c, c.dims.d_model, prefixed("ffn_", f));
    Ffn::visit(w.ffn, c.ffn, c.dims, prefixed("ffn.", f));
  }

  /// `batch` and `all` are the class tokens, B sequences of 1, and B sequences of 1 + P.
  template <Backend B, Element T>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, const TokenBatch& batch,
                      const TokenBatch& all, MatrixView<const T> patches, MatrixView<T> x) {
    const index_t D = c.dims.d_model, sequences = batch.batch(), P = all.tokens() - 1;
    expect_shape("ClassBlock", "x", x, {sequences, D});
    expect_shape("ClassBlock", "patches", patches, {sequences * P, D});
    Scratch::Frame frame(ctx.scratch());
    const auto u = frame.tensor<T, 2>({all.rows(), D});
    const auto y = frame.tensor<T, 2>({sequences, D});
    for (index_t b = 0; b < sequences; ++b) {
      const index_t first = b * (P + 1);
      Norm::apply(ctx, c.norm, w.mixer_norm, MatrixView<const T>(x.slice(0, b, b + 1)),
                  u.slice(0, first, first + 1));
      Norm::apply(ctx, c.norm, w.mixer_norm, patches.slice(0, b * P, (b + 1) * P),
                  u.slice(0, first + 1, first + 1 + P));
    }
    const MatrixView<const T> queries(u.data(), {sequences, D}, {(P + 1) * D, 1});
    Cross::apply_once(ctx, c.mixer, w.mixer, c.dims, batch, all, MatrixView<const T>(u), queries,
                      y);
    Residual::apply(ctx, c.residual, w.mixer_residual, MatrixView<const T>(y), x);
    FfnStep::apply(ctx, c, w.ffn_step, x, [&](MatrixView<const T> h, MatrixView<T> out) {
      Ffn::apply(ctx, c.ffn, w.ffn, c.dims, h, out);
    });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
