// A wiring of your own, in a model on SIMD kernels: how norm, mixer and feed-forward are connected.
#include "common/own_model.hpp"

using namespace ashlar;

// x = x + mixer(norm(x)) + ffn(norm(mixer(norm(x)))): the feed-forward sees the mixer's branch
// only. A wiring gets the block's config, its own weights, the stream, and both sublayers as
// functions.
struct BranchFed {
  template <class Spec>
  struct Block {
    using Norm = typename Spec::Norm;
    struct Weights {
      typename Norm::Weights before, between;
    };
    static void visit(Weights& w, const auto& c, auto&& f) {
      Norm::visit(w.before, c.norm, c.dims.d_model, prefixed("mixer_norm.", f));
      Norm::visit(w.between, c.norm, c.dims.d_model, prefixed("ffn_norm.", f));
    }
    template <Backend B, Element T>
    static void apply(Context<B>& ctx, const auto& c, const Weights& w, MatrixView<T> x,
                      auto&& mixer, auto&& ffn) {
      Scratch::Frame frame(ctx.scratch());
      const auto h = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
      const auto y = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
      Norm::apply(ctx, c.norm, w.before, MatrixView<const T>(x), h);
      mixer(MatrixView<const T>(h), y);
      residual_add(ctx, MatrixView<const T>(y), {}, x);
      Norm::apply(ctx, c.norm, w.between, MatrixView<const T>(y), h);
      ffn(MatrixView<const T>(h), y);
      residual_add(ctx, MatrixView<const T>(y), {}, x);
    }
  };
};

struct MySpec : LlamaSpec {
  using Wiring = BranchFed;
};

int main() {
  return examples::run_own_model<MySpec>("a wiring of its own", [](auto& layer) {
    layer.mixer.position.rule.width = layer.dims.head_dim;
  });
}
