// AudioEncoder: two convolutions over a log-mel spectrogram, positions, and a stack of blocks.
#pragma once

#include <ashlar/models/block_stack.hpp>
#include <ashlar/nn/embedding/conv1d.hpp>
#include <ashlar/ops/activation.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Radford et al. 2022, Whisper.
///
///   x = gelu(conv2(gelu(conv1(features)))) + position;  hidden = final_norm(layers(x))
template <BlockSpec Spec>
struct AudioEncoder {
  using Stack = BlockStack<Spec>;
  using InputPosition = typename Spec::InputPosition;

  struct Config {
    index_t d_model = 0;
    Conv1d::Config conv1{}, conv2{};
    typename InputPosition::Config position{};
    typename Stack::Config stack{};

    /// Rows that so many frames give.
    index_t tokens(index_t frames) const { return conv2.tokens(conv1.tokens(frames)); }
  };
  struct Weights {
    Conv1d::Weights conv1, conv2;
    typename InputPosition::Weights position;
    typename Stack::Weights stack;
  };
  static void visit(Weights& w, const Config& c, auto&& f) {
    Conv1d::visit(w.conv1, c.conv1, prefixed("conv1.", f));
    Conv1d::visit(w.conv2, c.conv2, prefixed("conv2.", f));
    InputPosition::visit(w.position, c.position, c.d_model, prefixed("position.", f));
    Stack::visit(w.stack, c.stack, f);
  }

  /// Shapes   features [B, C, frames], hidden [B T, D] with B and T = config.tokens(frames) of the
  ///          batch
  /// Throws   ShapeError; ValueError for more frames than there are positions
  template <Backend B, Element T, class Observer = NoStackObserver>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, TokenBatch& batch,
                      TensorView<const T, 3> features, MatrixView<T> hidden,
                      Observer&& observer = {}) {
    const index_t sequences = features.extent(0), frames = features.extent(2);
    expect_shape("AudioEncoder", "features", features, {sequences, c.conv1.channels, frames});
    const index_t rows = frames < 1 ? 0 : c.tokens(frames), most = c.position.positions;
    if (rows < 1 || rows > most)
      fail<ValueError>("AudioEncoder: ", frames, " frames give ", rows,
                       " rows, expected 1 to the model's ", most);
    if (batch.batch() != sequences || batch.tokens() != rows)
      fail<ShapeError>("AudioEncoder: ", sequences, " sequences of ", frames, " frames give ", rows,
                       " rows each, the batch has ", batch.batch(), " sequences of ",
                       batch.tokens());
    expect_shape("AudioEncoder", "hidden", hidden, {batch.rows(), c.d_model});
    Scratch::Frame frame(ctx.scratch());
    const auto x = frame.tensor<T, 2>({batch.rows(), c.d_model});
    embed(ctx, c, w, features, x);
    InputPosition::apply(ctx, c.position, w.position, batch, x);
    Stack::forward(ctx, c.stack, w.stack, batch, x, hidden, observer);
  }

 private:
  template <Backend B, Element T>
  static void embed(Context<B>& ctx, const Config& c, const Weights& w,
                    TensorView<const T, 3> features, MatrixView<T> x) {
    const index_t sequences = features.extent(0), frames = features.extent(2),
                  between = c.conv1.tokens(frames);
    Scratch::Frame frame(ctx.scratch());
    const auto rows = frame.tensor<T, 2>({sequences * frames, c.conv1.channels});
    const auto h = frame.tensor<T, 2>({sequences * between, c.conv1.outputs});
    for (index_t b = 0; b < sequences; ++b)
      for (index_t i = 0; i < c.conv1.channels; ++i)
        for (index_t t = 0; t < frames; ++t) rows(b * frames + t, i) = features(b, i, t);
    Conv1d::apply(ctx, c.conv1, w.conv1, sequences, MatrixView<const T>(rows), h);
    activation<act::Gelu>(ctx, MatrixView<const T>(h), h);
    Conv1d::apply(ctx, c.conv2, w.conv2, sequences, MatrixView<const T>(h), x);
    activation<act::Gelu>(ctx, MatrixView<const T>(x), x);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
