// Serial wiring: the mixer, then the feed-forward, each a sublayer around the residual stream.
#pragma once

#include <ashlar/nn/norm/none.hpp>
#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// One sublayer, in which every norm may be NoNorm and then costs nothing:
///   h = pre(x);  y = f(h);  y = branch(y);  x = x + scale ⊙ y;  x = stream(x)
template <NormPolicy Pre, NormPolicy Branch, NormPolicy Stream, ResidualPolicy Residual>
struct Sublayer {
  struct Weights {
    typename Pre::Weights pre;
    typename Branch::Weights branch;
    typename Stream::Weights stream;
    typename Residual::Weights residual;
  };
  /// The config is a block's, or has its `norm` and `residual`.
  template <class Config>
  static void visit(Weights& w, const Config& c, index_t width, auto&& f) {
    if constexpr (has<Pre>) Pre::visit(w.pre, c.norm, width, prefixed("norm.", f));
    if constexpr (has<Branch>) Branch::visit(w.branch, c.norm, width, prefixed("branch_norm.", f));
    if constexpr (has<Stream>) Stream::visit(w.stream, c.norm, width, prefixed("stream_norm.", f));
    Residual::visit(w.residual, c.residual, width, prefixed("residual.", f));
  }
  /// f(h, y) computes the branch y [M, D] of h [M, D].
  template <Backend B, Element T, class Config, class F>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, MatrixView<T> x, F&& f) {
    Scratch::Frame frame(ctx.scratch());
    const auto y = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
    if constexpr (has<Pre>) {
      const auto h = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
      norm<Pre>(ctx, c.norm, w.pre, MatrixView<const T>(x), h);
      f(MatrixView<const T>(h), y);
    } else {
      f(MatrixView<const T>(x), y);
    }
    if constexpr (has<Branch>) Branch::apply(ctx, c.norm, w.branch, MatrixView<const T>(y), y);
    Residual::apply(ctx, c.residual, w.residual, MatrixView<const T>(y), x);
    if constexpr (has<Stream>) Stream::apply(ctx, c.norm, w.stream, MatrixView<const T>(x), x);
  }

 private:
  // Not a template of F: an error in a norm is then reported once and not once a sublayer.
  template <class Norm, Backend B, Element T>
  static void norm(Context<B>& ctx, const typename Norm::Config& c, const typename Norm::Weights& w,
                   MatrixView<const T> x, MatrixView<T> y) {
    Norm::apply(ctx, c, w, x, y);
  }
  template <class N>
  static constexpr bool has = !std::is_same_v<N, NoNorm>;
};

/// Two sublayers in a row. The three parameters say where the spec's norm stands.
template <bool Pre, bool Branch, bool Stream>
struct SerialWiring {
  template <class Spec>
  class Block {
    template <bool On>
    using NormIf = std::conditional_t<On, typename Spec::Norm, NoNorm>;

   public:
    using Step = Sublayer<NormIf<Pre>, NormIf<Branch>, NormIf<Stream>, typename Spec::Residual>;

    struct Weights {
      typename Step::Weights mixer, ffn;
    };
    static void visit(Weights& w, const auto& c, auto&& f) {
      Step::visit(w.mixer, c, c.dims.d_model, prefixed("mixer_", f));
      Step::visit(w.ffn, c, c.dims.d_model, prefixed("ffn_", f));
    }
    template <Backend B, Element T, class Mixer, class Ffn>
    static void apply(Context<B>& ctx, const auto& c, const Weights& w, MatrixView<T> x,
                      Mixer&& mixer, Ffn&& ffn) {
      using Norm = typename Spec::Norm;
      if constexpr (Pre && !Branch && !Stream && requires(MatrixView<const T> y) {
                      add_and_norm(ctx, Norm{}, c.norm, w.ffn.pre, w.mixer.residual, y, x, x);
                    }) {  // the backend adds the first branch and norms the sum in one pass
        Scratch::Frame frame(ctx.scratch());
        const auto h = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
        const auto y = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
        Norm::apply(ctx, c.norm, w.mixer.pre, MatrixView<const T>(x), h);
        mixer(MatrixView<const T>(h), y);
        add_and_norm(ctx, Norm{}, c.norm, w.ffn.pre, w.mixer.residual, MatrixView<const T>(y), x,
                     h);
        ffn(MatrixView<const T>(h), y);
        Spec::Residual::apply(ctx, c.residual, w.ffn.residual, MatrixView<const T>(y), x);
      } else {
        Step::apply(ctx, c, w.mixer, x, mixer);
        Step::apply(ctx, c, w.ffn, x, ffn);
      }
    }
  };
};

/// x = x + f(norm(x)): GPT-2, Llama and most of what came after. Source: Xiong et al. 2020.
struct PreNorm : SerialWiring<true, false, false> {};
/// x = norm(x + f(x)): the 2017 transformer, BERT. Source: Vaswani et al. 2017.
struct PostNorm : SerialWiring<false, false, true> {};
/// x = x + norm(f(x)): OLMo 2, EXAONE 4, Swin v2. Source: Liu et al. 2022; OLMo 2 (2024).
struct BranchNorm : SerialWiring<false, true, false> {};
/// x = x + norm'(f(norm(x))): Gemma 2 and 3, GLM-4. Source: Ding et al. 2021, CogView.
struct SandwichNorm : SerialWiring<true, true, false> {};

}  // namespace ashlar::inline ASHLAR_ABI
