// Parallel wiring: mixer and feed-forward side by side on the same input.
#pragma once

#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// x = x + mixer(norm(x)) + ffn(norm'(x)); with one norm both branches read the same. Two products
/// less to wait for. Source: Wang and Komatsuzaki 2021, GPT-J.
template <int Norms>
struct ParallelWiring {
  static_assert(Norms == 1 || Norms == 2);

  template <class Spec>
  struct Block {
    using Norm = typename Spec::Norm;
    using Residual = typename Spec::Residual;

    struct Weights {
      typename Norm::Weights norm[Norms];
      typename Residual::Weights mixer, ffn;
    };
    static void visit(Weights& w, const auto& c, auto&& f) {
      const index_t width = c.dims.d_model;
      Norm::visit(w.norm[0], c.norm, width, prefixed("mixer_norm.", f));
      if constexpr (Norms == 2) Norm::visit(w.norm[1], c.norm, width, prefixed("ffn_norm.", f));
      Residual::visit(w.mixer, c.residual, width, prefixed("mixer_residual.", f));
      Residual::visit(w.ffn, c.residual, width, prefixed("ffn_residual.", f));
    }
    template <Backend B, Element T, class Mixer, class Ffn>
    static void apply(Context<B>& ctx, const auto& c, const Weights& w, MatrixView<T> x,
                      Mixer&& mixer, Ffn&& ffn) {
      Scratch::Frame frame(ctx.scratch());
      const auto tensor = [&] { return frame.tensor<T, 2>({x.extent(0), x.extent(1)}); };
      const auto h = tensor(), mixed = tensor(), y = tensor();
      Norm::apply(ctx, c.norm, w.norm[0], MatrixView<const T>(x), h);
      mixer(MatrixView<const T>(h), mixed);
      if constexpr (Norms == 2) Norm::apply(ctx, c.norm, w.norm[1], MatrixView<const T>(x), h);
      ffn(MatrixView<const T>(h), y);
      Residual::apply(ctx, c.residual, w.mixer, MatrixView<const T>(mixed), x);
      Residual::apply(ctx, c.residual, w.ffn, MatrixView<const T>(y), x);
    }
  };
};

/// GPT-J, PaLM, Falcon 7B, Command R.
struct ParallelOneNorm : ParallelWiring<1> {};
/// GPT-NeoX, Falcon 40B.
struct ParallelTwoNorms : ParallelWiring<2> {};

}  // namespace ashlar::inline ASHLAR_ABI
