// BlockStack: a run of blocks without a cache and the norm after them; what encoders are made of.
#pragma once

#include <ashlar/models/spec_parts.hpp>
#include <ashlar/nn/block.hpp>
#include <string>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// Looks at nothing. An observer is called as observer(layer, x [M, D]) with the stream that enters
/// each layer, and at last with what leaves the last one, before the final norm.
struct NoStackObserver {
  template <class T>
  void operator()(index_t, MatrixView<const T>) const {}
};

/// Every token sees whatever the mixers' masks let it see; the batch's lengths end its sequences.
///   x = layer(x) for each layer;  hidden = final_norm(x)
template <BlockSpec Spec>
struct BlockStack {
  using Block = DecoderBlock<Spec>;
  using FinalNorm = FinalNormOf<Spec>;

  struct Config {
    index_t d_model = 0;
    typename FinalNorm::Config final_norm{};
    std::vector<typename Block::Config> layers;
  };
  struct Weights {
    typename FinalNorm::Weights final_norm;
    std::vector<typename Block::Weights> layers;
  };
  static void visit(Weights& w, const Config& c, auto&& f) {
    w.layers.resize(c.layers.size());
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      const std::string layer = join("layers.", i, ".");
      Block::visit(w.layers[i], c.layers[i], prefixed(layer, f));
    }
    FinalNorm::visit(w.final_norm, c.final_norm, c.d_model, prefixed("final_norm.", f));
  }

  /// Shapes   x [B T, D], which is overwritten; hidden [B T, D]
  template <Backend B, Element T, class Observer>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, const TokenBatch& batch,
                      MatrixView<T> x, MatrixView<T> hidden, Observer&& observer) {
    if (w.layers.size() != c.layers.size())
      fail<ShapeError>("BlockStack: weights of ", w.layers.size(), " layers, expected ",
                       c.layers.size());
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      observer(static_cast<index_t>(i), MatrixView<const T>(x));
      Block::forward(ctx, c.layers[i], w.layers[i], batch, nullptr, x);
    }
    observer(static_cast<index_t>(c.layers.size()), MatrixView<const T>(x));
    FinalNorm::apply(ctx, c.final_norm, w.final_norm, MatrixView<const T>(x), hidden);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
