// CausalLm: embeddings, a stack of blocks, a final norm and a head over the vocabulary.
#pragma once

#include <ashlar/models/spec_parts.hpp>
#include <ashlar/models/token_check.hpp>
#include <ashlar/nn/block.hpp>
#include <ashlar/ops/embedding.hpp>
#include <ashlar/ops/linear.hpp>
#include <ashlar/ops/map.hpp>
#include <cfloat>
#include <string>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// Looks at the stream that enters each layer: observer(layer, x [B T, D]). In the call that begins
/// a sequence its registers are in front of every sequence's tokens.
struct NoObserver {
  template <class T>
  void operator()(index_t, MatrixView<const T>) const {}
};

/// A decoder-only language model of a spec's blocks. Beside the block's parts the spec names an
/// InputPosition, and where it has them an EmbeddingNorm, a FinalNorm (else the block's Norm) and a
/// SideInput.
///
///   x = embedding_norm(embedding_scale * E[token] + position);  x = layer(x) for each layer
///   logits = cap tanh((logit_scale * final_norm(x) Head^T + bias) / cap)
///
/// With an embedding_width of its own the table is narrower: E[token] In^T, and final_norm(x) Out^T
/// is what meets the head. Source: OPT-350M (Zhang et al. 2022).
template <BlockSpec Spec>
struct CausalLm {
  using Block = DecoderBlock<Spec>;
  using InputPosition = typename Spec::InputPosition;
  using EmbeddingNorm = EmbeddingNormOf<Spec>;
  using FinalNorm = FinalNormOf<Spec>;
  using SideInput = SideInputOf<Spec>;

  struct Config {
    index_t vocabulary = 0, d_model = 0;
    index_t context_length = 0;   // positions that the model was made for; 0: no limit
    index_t registers = 0;        // learned tokens without position in front of every sequence
    index_t embedding_width = 0;  // of the table and the head; 0: d_model
    bool tied_head = false;       // the head is the embedding table
    bool head_bias = false;
    float embedding_scale = 1.f;
    float logit_scale = 1.f;
    float logit_cap = 0.f;                        // soft-cap of the logits; 0: none
    std::vector<std::int32_t> never_predicted{};  // ids whose logit is the lowest float
    typename InputPosition::Config position{};
    typename EmbeddingNorm::Config embedding_norm{};
    typename FinalNorm::Config final_norm{};
    typename SideInput::Config side_input{};
    std::vector<typename Block::Config> layers{};
    std::vector<index_t> state_of{};  // the layer whose state each layer uses; empty: its own
  };
  struct Weights {
    WeightMatrix embedding, head;
    WeightMatrix project_in, project_out;  // from and to an embedding_width of its own
    VectorView<const float> head_bias;
    WeightMatrix registers;
    typename InputPosition::Weights position;
    typename EmbeddingNorm::Weights embedding_norm;
    typename FinalNorm::Weights final_norm;
    typename SideInput::Weights side_input;
    std::vector<typename Block::Weights> layers;
  };
  /// What one batch of sequences has seen so far.
  class State {
   public:
    State(const Config& c, index_t batch, index_t capacity)
        : batch_size_(batch), capacity_(capacity), registers_(c.registers) {
      if (batch < 1 || capacity < 0)
        fail<ValueError>("CausalLm: state for ", batch, " sequences of ", capacity, " tokens");
      if (c.context_length != 0 && capacity > c.context_length)
        fail<ValueError>("CausalLm: capacity of ", capacity,
                         " tokens is beyond the model's context of ", c.context_length);
      check_state_of(c);
      tokens_.set_capacity(capacity);
      for (const auto& layer : c.layers)
        layers_.push_back(Block::make_state(layer, batch, capacity + registers_));
    }
    index_t batch() const { return batch_size_; }
    index_t capacity() const { return capacity_; }
    index_t length() const { return length_; }
    /// Bytes that the layers keep of the tokens.
    index_t bytes() const {
      index_t sum = 0;
      for (const auto& layer : layers_) sum += layer.bytes();
      return sum;
    }
    /// Forgets all tokens from position `length` on.
    void truncate(index_t length) {
      if (length < 0) fail<ValueError>("CausalLm: length is ", length, ", expected at least 0");
      length_ = min_index(length_, length);
      for (auto& layer : layers_) layer.truncate(rows());
    }

   private:
    friend CausalLm;
    static void check_state_of(const Config& c) {
      const std::size_t n = c.state_of.size();
      if (n != 0 && n != c.layers.size())
        fail<ValueError>("CausalLm: state_of has ", n, " entries, expected ", c.layers.size());
      for (std::size_t i = 0; i < n; ++i)
        if (c.state_of[i] < 0 || c.state_of[i] > static_cast<index_t>(i))
          fail<ValueError>("CausalLm: layer ", i, " uses the state of layer ", c.state_of[i],
                           ", expected itself or an earlier one");
    }
    /// What every layer holds of a sequence: its tokens, and the registers in front of the first.
    index_t rows() const { return length_ == 0 ? 0 : registers_ + length_; }

    index_t batch_size_, capacity_, registers_, length_ = 0;
    TokenBatch tokens_, inputs_;  // rows of the layers, and of one sequence's embeddings
    std::vector<typename Block::State> layers_;
  };

  /// Names every weight: f(name, view, extents).
  static void visit(Weights& w, const Config& c, auto&& f) {
    const index_t table_width = c.embedding_width ? c.embedding_width : c.d_model;
    f("embedding", w.embedding, {c.vocabulary, table_width});
    if (c.embedding_width) f("project_in", w.project_in, {c.d_model, table_width});
    InputPosition::visit(w.position, c.position, c.d_model, prefixed("position.", f));
    EmbeddingNorm::visit(w.embedding_norm, c.embedding_norm, c.d_model,
                         prefixed("embedding_norm.", f));
    SideInput::visit(w.side_input, c.side_input, c.d_model, prefixed("side_input.", f));
    if (c.registers) f("registers", w.registers, {c.registers, c.d_model});
    w.layers.resize(c.layers.size());
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      const std::string layer = join("layers.", i, ".");
      Block::visit(w.layers[i], c.layers[i], prefixed(layer, f));
    }
    FinalNorm::visit(w.final_norm, c.final_norm, c.d_model, prefixed("final_norm.", f));
    if (c.embedding_width) f("project_out", w.project_out, {table_width, c.d_model});
    if (!c.tied_head) f("head", w.head, {c.vocabulary, table_width});
    if (c.head_bias) f("head_bias", w.head_bias, {c.vocabulary});
  }

  /// Runs T tokens of each sequence after those that the state holds.
  ///
  /// Shapes   tokens [B, T], hidden [B T, D]: the stream after the final norm, which the head takes
  /// Throws   ShapeError; ValueError for a token outside the vocabulary or more tokens than fit.
  /// The
  ///          state then is as before
  template <Backend B, class Observer = NoObserver, Element T = float>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, State& state,
                      MatrixView<const std::int32_t> tokens, MatrixView<T> hidden,
                      Observer&& observer = {}) {
    const index_t batch = tokens.extent(0), count = tokens.extent(1), first = state.length_;
    const index_t n_layers = static_cast<index_t>(c.layers.size());
    expect_shape("CausalLm", "tokens", tokens, {state.batch_size_, count});
    expect_shape("CausalLm", "hidden", hidden, {batch * count, c.d_model});
    if (count > state.capacity_ - first)
      fail<ValueError>("CausalLm: ", count, " tokens after ", first, " do not fit the capacity of ",
                       state.capacity_);
    detail::check_tokens("CausalLm", "token", tokens, c.vocabulary);
    if (w.layers.size() != c.layers.size() || state.layers_.size() != c.layers.size())
      fail<ShapeError>("CausalLm: weights of ", w.layers.size(), " layers and a state of ",
                       state.layers_.size(), ", expected ", c.layers.size());
    if (count == 0) return;

    // Registers stand in front of the first tokens; nothing rotates or counts them.
    const index_t registers = first == 0 ? c.registers : 0, rows = registers + count;
    TokenBatch& step = state.tokens_;
    step.reset(batch, rows);
    const auto positions = step.positions();
    for (index_t m = 0; m < step.rows(); ++m)
      positions(m) = max_index(first + m % rows - registers, 0);

    Scratch::Frame frame(ctx.scratch());
    const auto x = frame.tensor<T, 2>({batch * rows, c.d_model});
    state.inputs_.reset(1, count, first);
    embed(ctx, c, w, tokens, state.inputs_, registers, x);
    const index_t side_width = SideInput::width(c.side_input);
    const auto sides = frame.tensor<T, 2>({batch * rows, side_width * n_layers});
    if (side_width > 0)
      SideInput::apply(ctx, c.side_input, w.side_input, tokens, registers, x, sides);
    Unfinished unfinished{state};
    for (index_t i = 0; i < n_layers; ++i) {
      const std::size_t layer = static_cast<std::size_t>(i);
      const std::size_t owner =
          c.state_of.empty() ? layer : static_cast<std::size_t>(c.state_of[layer]);
      observer(i, MatrixView<const T>(x));
      Block::forward(ctx, c.layers[layer], w.layers[layer], step, &state.layers_[owner], x,
                     sides.slice(1, i * side_width, (i + 1) * side_width));
    }
    for (index_t b = 0; b < batch; ++b) {
      const auto kept = x.slice(0, b * rows + registers, (b + 1) * rows);
      FinalNorm::apply(ctx, c.final_norm, w.final_norm, MatrixView<const T>(kept),
                       hidden.slice(0, b * count, (b + 1) * count));
    }
    unfinished.tokens = count;
  }

  /// Logits of rows of `hidden`.
  /// Shapes   hidden [M, D], logits [M, V]
  template <Backend B, Element T>
  static void head(Context<B>& ctx, const Config& c, const Weights& w, MatrixView<const T> hidden,
                   std::type_identity_t<MatrixView<T>> logits) {
    Scratch::Frame frame(ctx.scratch());
    MatrixView<const T> x = hidden;
    if (c.embedding_width) {
      const auto narrow = frame.tensor<T, 2>({hidden.extent(0), c.embedding_width});
      linear(ctx, hidden, w.project_out, {}, narrow);
      x = narrow;
    }
    linear(ctx, x, c.tied_head ? w.embedding : w.head, w.head_bias, logits);
    if (c.logit_scale != 1.f) map(ctx, fn::Scale{c.logit_scale}, logits);
    if (c.logit_cap != 0.f) map(ctx, fn::SoftCap{c.logit_cap}, logits);
    for (const index_t id : c.never_predicted)
      for (index_t m = 0; m < logits.extent(0); ++m) logits(m, id) = T(-FLT_MAX);
  }

 private:
  /// Ends a call: counts its tokens, or, when something threw, makes the layers forget its rows.
  struct Unfinished {
    State& state;
    index_t tokens = 0;
    ~Unfinished() {
      state.length_ += tokens;
      if constexpr (requires(typename Block::State & s) { s.truncate(index_t{0}); })
        if (tokens == 0)
          for (auto& layer : state.layers_) layer.truncate(state.rows());
    }
  };
  template <Backend B, Element T>
  static void embed(Context<B>& ctx, const Config& c, const Weights& w,
                    MatrixView<const std::int32_t> tokens, const TokenBatch& inputs,
                    index_t registers, MatrixView<T> x) {
    Scratch::Frame frame(ctx.scratch());
    std::int32_t* ids = frame.get<std::int32_t>(max_index(registers, tokens.extent(1)));
    const index_t rows = registers + tokens.extent(1);
    for (index_t b = 0; b < tokens.extent(0); ++b) {
      if (registers > 0) {
        for (index_t i = 0; i < registers; ++i) ids[i] = static_cast<std::int32_t>(i);
        embedding(ctx, VectorView<const std::int32_t>(ids, {registers}), w.registers,
                  x.slice(0, b * rows, b * rows + registers));
      }
      const auto embedded = x.slice(0, b * rows + registers, (b + 1) * rows);
      const VectorView<const std::int32_t> row = tokens.at(b);
      if (c.embedding_width) {
        Scratch::Frame narrow_frame(ctx.scratch());
        const auto narrow = narrow_frame.tensor<T, 2>({row.extent(0), c.embedding_width});
        embedding(ctx, row, w.embedding, narrow);
        linear(ctx, MatrixView<const T>(narrow), w.project_in, {}, embedded);
      } else {
        embedding(ctx, row, w.embedding, embedded);
      }
      if (c.embedding_scale != 1.f) map(ctx, fn::Scale{c.embedding_scale}, embedded);
      InputPosition::apply(ctx, c.position, w.position, inputs, embedded);
      if constexpr (!std::is_same_v<EmbeddingNorm, NoNorm>)
        EmbeddingNorm::apply(ctx, c.embedding_norm, w.embedding_norm, MatrixView<const T>(embedded),
                             embedded);
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
