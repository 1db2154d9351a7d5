// Normed stream: the serial wiring whose norms stand on the stream itself, before each branch.
#pragma once

#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// x = norm(x); x = x + f(x), for the mixer and then for the feed-forward.
/// Source: Shoeybi et al. 2019, Megatron-LM: apply_residual_connection_post_layernorm; BLOOM.
struct NormedStream {
  template <class Spec>
  struct Block {
    using Norm = typename Spec::Norm;
    using Residual = typename Spec::Residual;

    struct Weights {
      typename Norm::Weights mixer_norm, ffn_norm;
      typename Residual::Weights mixer, ffn;
    };
    static void visit(Weights& w, const auto& c, auto&& f) {
      const index_t width = c.dims.d_model;
      Norm::visit(w.mixer_norm, c.norm, width, prefixed("mixer_norm.", f));
      Residual::visit(w.mixer, c.residual, width, prefixed("mixer_residual.", f));
      Norm::visit(w.ffn_norm, c.norm, width, prefixed("ffn_norm.", f));
      Residual::visit(w.ffn, c.residual, width, prefixed("ffn_residual.", f));
    }
    template <Backend B, Element T, class Mixer, class Ffn>
    static void apply(Context<B>& ctx, const auto& c, const Weights& w, MatrixView<T> x,
                      Mixer&& mixer, Ffn&& ffn) {
      Scratch::Frame frame(ctx.scratch());
      const auto y = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
      const MatrixView<const T> h(x);
      Norm::apply(ctx, c.norm, w.mixer_norm, h, x);
      mixer(h, y);
      Residual::apply(ctx, c.residual, w.mixer, MatrixView<const T>(y), x);
      Norm::apply(ctx, c.norm, w.ffn_norm, h, x);
      ffn(h, y);
      Residual::apply(ctx, c.residual, w.ffn, MatrixView<const T>(y), x);
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI
