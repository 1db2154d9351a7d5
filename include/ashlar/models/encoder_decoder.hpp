// EncoderDecoder: a decoder whose layers look at the states of an encoder.
#pragma once

#include <ashlar/models/encoder.hpp>
#include <ashlar/models/token_check.hpp>
#include <ashlar/nn/cross_block.hpp>
#include <ashlar/ops/linear.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// `Source` is the encoder's model, an Encoder<..> of tokens or an AudioEncoder<..>. The decoder's
/// spec names an InputPosition, and where it has them an EmbeddingNorm and a FinalNorm (else the
/// block's Norm).
///
///   memory = Source(..), remembered by every layer once
///   x = embedding_norm(embedding_scale * E[token] + position);  x = layer(x) for each layer
///   logits = logit_scale * final_norm(x) Head^T + bias
///
/// Use: Source::forward gives the memory, remember() hands it to the layers, forward() runs as many
/// of the target's tokens at a time as one likes.
template <class Source_, CrossBlockSpec Spec>
struct EncoderDecoder {
  using Source = Source_;
  using Block = CrossBlock<Spec>;
  using InputPosition = typename Spec::InputPosition;
  using EmbeddingNorm = EmbeddingNormOf<Spec>;
  using FinalNorm = FinalNormOf<Spec>;

  struct Config {
    typename Source::Config encoder{};
    index_t vocabulary = 0, d_model = 0;
    index_t context_length = 0;  // most tokens of a target; 0: no limit
    bool own_embedding = false;  // else the table is the encoder's
    bool tied_head = true;       // the head is the embedding table
    bool head_bias = false;
    float embedding_scale = 1.f, logit_scale = 1.f;
    typename InputPosition::Config position{};
    typename EmbeddingNorm::Config embedding_norm{};
    typename FinalNorm::Config final_norm{};
    std::vector<typename Block::Config> layers;
  };
  struct Weights {
    typename Source::Weights encoder;
    WeightMatrix embedding, head;
    VectorView<const float> head_bias;
    typename InputPosition::Weights position;
    typename EmbeddingNorm::Weights embedding_norm;
    typename FinalNorm::Weights final_norm;
    std::vector<typename Block::Weights> layers;
  };

  /// What one batch of targets has seen so far, and the memory that they look at.
  class State {
   public:
    /// Throws ValueError for a size that is not possible, or a capacity beyond the model's context.
    State(const Config& c, index_t batch, index_t capacity, index_t memory_capacity)
        : batch_size_(batch), capacity_(capacity), memory_capacity_(memory_capacity) {
      if (batch < 1 || capacity < 0)
        fail<ValueError>("EncoderDecoder: state for ", batch, " sequences of ", capacity,
                         " tokens");
      if (c.context_length != 0 && capacity > c.context_length)
        fail<ValueError>("EncoderDecoder: capacity of ", capacity,
                         " tokens is beyond the model's context of ", c.context_length);
      for (const auto& layer : c.layers)
        layers_.push_back(Block::make_state(layer, batch, capacity, memory_capacity));
      tokens_.set_capacity(capacity);
    }
    index_t batch() const { return batch_size_; }
    index_t capacity() const { return capacity_; }
    index_t length() const { return length_; }
    /// Forgets the target's tokens from position `length` on; the memory stays.
    void truncate(index_t length) {
      if (length < 0)
        fail<ValueError>("EncoderDecoder: length is ", length, ", expected at least 0");
      length_ = min_index(length_, length);
      for (auto& layer : layers_) layer.mixer.truncate(length_);
    }

   private:
    friend EncoderDecoder;
    index_t batch_size_, capacity_, memory_capacity_, length_ = 0;
    bool remembers_ = false;
    TokenBatch tokens_;
    std::vector<typename Block::State> layers_;
  };

  /// Names every weight: f(name, view, extents).
  static void visit(Weights& w, const Config& c, auto&& f) {
    Source::visit(w.encoder, c.encoder, prefixed("encoder.", f));
    const auto decoder = prefixed("decoder.", f);
    if (c.own_embedding) decoder("embedding", w.embedding, {c.vocabulary, c.d_model});
    InputPosition::visit(w.position, c.position, c.d_model, prefixed("decoder.position.", f));
    EmbeddingNorm::visit(w.embedding_norm, c.embedding_norm, c.d_model,
                         prefixed("decoder.embedding_norm.", f));
    w.layers.resize(c.layers.size());
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      const std::string layer = join("decoder.layers.", i, ".");
      Block::visit(w.layers[i], c.layers[i], prefixed(layer, f));
    }
    FinalNorm::visit(w.final_norm, c.final_norm, c.d_model, prefixed("decoder.final_norm.", f));
    if (!c.tied_head) f("head", w.head, {c.vocabulary, c.d_model});
    if (c.head_bias) f("head_bias", w.head_bias, {c.vocabulary});
  }

  /// Begins new targets: every layer takes keys and values of the encoder's states, whose lengths
  /// `batch` has.
  /// Shapes   memory [B S, D of the encoder]
  /// Throws   ShapeError; ValueError for a memory that does not fit. The state then is as before
  template <Backend B, Element T>
  static void remember(Context<B>& ctx, const Config& c, const Weights& w, State& state,
                       const TokenBatch& batch, MatrixView<const T> memory) {
    if (batch.batch() != state.batch_size_)
      fail<ShapeError>("EncoderDecoder: memory of ", batch.batch(), " sequences, expected ",
                       state.batch_size_);
    if (batch.tokens() > state.memory_capacity_)
      fail<ValueError>("EncoderDecoder: a memory of ", batch.tokens(),
                       " tokens does not fit the capacity of ", state.memory_capacity_);
    for (const auto& layer : c.layers)
      expect_shape(
          "EncoderDecoder", "memory", memory,
          {batch.rows(), layer.cross.memory_width ? layer.cross.memory_width : layer.dims.d_model});
    state.truncate(0);
    state.remembers_ = false;
    for (std::size_t i = 0; i < c.layers.size(); ++i)
      Block::Cross::remember(ctx, c.layers[i].cross, w.layers[i].cross, c.layers[i].dims, batch,
                             state.layers_[i].cross, memory);
    state.remembers_ = true;
  }

  /// Runs T tokens of each target after those that the state holds.
  ///
  /// Shapes   tokens [B, T], hidden [B T, D]: the stream after the final norm, which the head takes
  /// Throws   ShapeError; ValueError for a token outside the vocabulary or more tokens than fit.
  /// The
  ///          state then is as before
  template <Backend B, Element T, class Observer = NoStackObserver>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, State& state,
                      MatrixView<const std::int32_t> tokens, MatrixView<T> hidden,
                      Observer&& observer = {}) {
    const index_t batch = state.batch_size_, count = tokens.extent(1);
    expect_shape("EncoderDecoder", "tokens", tokens, {batch, count});
    expect_shape("EncoderDecoder", "hidden", hidden, {batch * count, c.d_model});
    if (!state.remembers_) fail<ValueError>("EncoderDecoder: the state has no memory to look at");
    if (count > state.capacity_ - state.length_)
      fail<ValueError>("EncoderDecoder: ", count, " tokens after ", state.length_,
                       " do not fit the capacity of ", state.capacity_);
    if (w.layers.size() != c.layers.size() || state.layers_.size() != c.layers.size())
      fail<ShapeError>("EncoderDecoder: weights of ", w.layers.size(), " layers and a state of ",
                       state.layers_.size(), ", expected ", c.layers.size());
    detail::check_tokens("EncoderDecoder", "token", tokens, table(c, w).rows());
    if (count == 0) return;

    TokenBatch& step = state.tokens_;
    step.reset(batch, count, state.length_);
    Scratch::Frame frame(ctx.scratch());
    const auto x = frame.tensor<T, 2>({batch * count, c.d_model});
    for (index_t b = 0; b < batch; ++b)
      embedding(ctx, VectorView<const std::int32_t>(tokens.at(b)), table(c, w),
                x.slice(0, b * count, (b + 1) * count));
    if (c.embedding_scale != 1.f) map(ctx, fn::Scale{c.embedding_scale}, x);
    InputPosition::apply(ctx, c.position, w.position, step, x);
    if constexpr (!std::is_same_v<EmbeddingNorm, NoNorm>)
      EmbeddingNorm::apply(ctx, c.embedding_norm, w.embedding_norm, MatrixView<const T>(x), x);

    Unfinished unfinished{state};
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      observer(static_cast<index_t>(i), MatrixView<const T>(x));
      Block::forward(ctx, c.layers[i], w.layers[i], step, state.layers_[i], x);
    }
    observer(static_cast<index_t>(c.layers.size()), MatrixView<const T>(x));
    FinalNorm::apply(ctx, c.final_norm, w.final_norm, MatrixView<const T>(x), hidden);
    unfinished.length = state.length_ + count;
  }

  /// Logits of rows of `hidden`.
  /// Shapes   hidden [M, D], logits [M, V]
  template <Backend B, Element T>
  static void head(Context<B>& ctx, const Config& c, const Weights& w, MatrixView<const T> hidden,
                   std::type_identity_t<MatrixView<T>> logits) {
    const WeightMatrix& matrix = c.tied_head ? table(c, w) : w.head;
    if (c.logit_scale == 1.f) return linear(ctx, hidden, matrix, w.head_bias, logits);
    Scratch::Frame frame(ctx.scratch());
    const auto scaled = frame.tensor<T, 2>({hidden.extent(0), hidden.extent(1)});
    NoNorm::apply(ctx, {}, {}, hidden, scaled);
    map(ctx, fn::Scale{c.logit_scale}, scaled);
    linear(ctx, MatrixView<const T>(scaled), matrix, w.head_bias, logits);
  }

 private:
  /// Ends a call: the state has the new length, or the old one when something threw.
  struct Unfinished {
    State& state;
    index_t length = state.length_;
    ~Unfinished() {
      if (length != state.length_)
        state.length_ = length;
      else
        for (auto& layer : state.layers_) layer.mixer.truncate(length);
    }
  };
  static const WeightMatrix& table(const Config& c, const Weights& w) {
    if constexpr (requires { w.encoder.embedding; })
      return c.own_embedding ? w.embedding : w.encoder.embedding;
    else
      return w.embedding;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
