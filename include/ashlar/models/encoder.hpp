// Encoder: token embeddings and a stack of blocks; the states of all tokens at once.
#pragma once

#include <ashlar/models/block_stack.hpp>
#include <ashlar/models/token_check.hpp>
#include <ashlar/ops/embedding.hpp>
#include <ashlar/ops/map.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Heads of a model that has none.
struct NoHeads {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t /*vocabulary*/, index_t /*d_model*/, auto&&) {}
};

namespace detail {
template <class S>
struct HeadsOf : std::type_identity<NoHeads> {};
template <class S>
requires requires { typename S::Heads; }
struct HeadsOf<S> : std::type_identity<typename S::Heads> {};
}  // namespace detail
/// S::Heads, or none: what is computed from an encoder's states.
template <class S>
using HeadsOf = typename detail::HeadsOf<S>::type;

/// A model of tokens that are all there at once: BERT and its kin. Beside the block's parts the
/// spec names an InputPosition, and where it has them an EmbeddingNorm, a FinalNorm (else the
/// block's Norm) and Heads.
///
///   x = embedding_norm(embedding_scale * E[token] + position + types[type])
///   hidden = final_norm(layers(x))
template <BlockSpec Spec>
struct Encoder {
  using Stack = BlockStack<Spec>;
  using InputPosition = typename Spec::InputPosition;
  using EmbeddingNorm = EmbeddingNormOf<Spec>;
  using Heads = HeadsOf<Spec>;

  struct Config {
    index_t vocabulary = 0, d_model = 0;
    index_t context_length = 0;  // most tokens of a sequence; 0: no limit
    index_t token_types = 0;     // rows of the table of types; 0: none
    float embedding_scale = 1.f;
    std::int32_t uncounted = -1;  // tokens with this id have position -1, the others are counted
                                  // without them; -1: every token counts. Source: RoBERTa
    typename InputPosition::Config position{};
    typename EmbeddingNorm::Config embedding_norm{};
    typename Stack::Config stack{};
    typename Heads::Config heads{};
  };
  struct Weights {
    WeightMatrix embedding, token_types;
    typename InputPosition::Weights position;
    typename EmbeddingNorm::Weights embedding_norm;
    typename Stack::Weights stack;
    typename Heads::Weights heads;
  };

  /// Names every weight: f(name, view, extents).
  static void visit(Weights& w, const Config& c, auto&& f) {
    f("embedding", w.embedding, {c.vocabulary, c.d_model});
    if (c.token_types) f("token_types", w.token_types, {c.token_types, c.d_model});
    InputPosition::visit(w.position, c.position, c.d_model, prefixed("position.", f));
    EmbeddingNorm::visit(w.embedding_norm, c.embedding_norm, c.d_model,
                         prefixed("embedding_norm.", f));
    Stack::visit(w.stack, c.stack, f);
    Heads::visit(w.heads, c.heads, c.vocabulary, c.d_model, prefixed("heads.", f));
  }

  /// `batch` has the lengths of the sequences; its positions are set here.
  ///
  /// Shapes   tokens [B, T]; types [B, T], or empty for all of type 0; hidden [B T, D]. Rows past a
  ///          sequence's length hold finite numbers without a meaning
  /// Throws   ShapeError; ValueError for a token or type outside its table, more tokens than fit
  template <Backend B, Element T, class Observer = NoStackObserver>
  static void forward(Context<B>& ctx, const Config& c, const Weights& w, TokenBatch& batch,
                      MatrixView<const std::int32_t> tokens, MatrixView<const std::int32_t> types,
                      MatrixView<T> hidden, Observer&& observer = {}) {
    expect_shape("Encoder", "tokens", tokens, {batch.batch(), batch.tokens()});
    if (types.data()) expect_shape("Encoder", "types", types, {batch.batch(), batch.tokens()});
    expect_shape("Encoder", "hidden", hidden, {batch.rows(), c.d_model});
    if (c.context_length != 0 && batch.tokens() > c.context_length)
      fail<ValueError>("Encoder: ", batch.tokens(), " tokens, the model was made for ",
                       c.context_length);
    detail::check_tokens("Encoder", "token", tokens, w.embedding.rows());
    if (types.data()) detail::check_tokens("Encoder", "type", types, w.token_types.rows());
    Scratch::Frame frame(ctx.scratch());
    const auto x = frame.tensor<T, 2>({batch.rows(), c.d_model});
    embed(ctx, c, w, batch, tokens, types, x);
    Stack::forward(ctx, c.stack, w.stack, batch, x, hidden, observer);
  }

 private:
  template <Backend B, Element T>
  static void embed(Context<B>& ctx, const Config& c, const Weights& w, TokenBatch& batch,
                    MatrixView<const std::int32_t> tokens, MatrixView<const std::int32_t> types,
                    MatrixView<T> x) {
    set_positions(c, batch, tokens);
    look_up(ctx, tokens, w.embedding, x);
    if (c.embedding_scale != 1.f) map(ctx, fn::Scale{c.embedding_scale}, x);
    InputPosition::apply(ctx, c.position, w.position, batch, x);
    if (c.token_types) {
      Scratch::Frame frame(ctx.scratch());
      const auto y = frame.tensor<T, 2>({x.extent(0), x.extent(1)});
      std::int32_t* zeros = frame.get<std::int32_t>(tokens.extent(1));
      std::fill_n(zeros, tokens.extent(1), 0);
      // One row for all sequences where there are no types.
      const MatrixView<const std::int32_t> all_zero(zeros, {tokens.extent(0), tokens.extent(1)},
                                                    {0, 1});
      look_up(ctx, types.data() ? types : all_zero, w.token_types, y);
      residual_add(ctx, MatrixView<const T>(y), {}, x);
    }
    if constexpr (!std::is_same_v<EmbeddingNorm, NoNorm>)
      EmbeddingNorm::apply(ctx, c.embedding_norm, w.embedding_norm, MatrixView<const T>(x), x);
  }
  static void set_positions(const Config& c, TokenBatch& batch,
                            MatrixView<const std::int32_t> tokens) {
    const auto positions = batch.positions();
    for (index_t b = 0, m = 0; b < tokens.extent(0); ++b) {
      index_t next = 0;
      for (index_t t = 0; t < tokens.extent(1); ++t, ++m)
        positions(m) = c.uncounted >= 0 && tokens(b, t) == c.uncounted ? -1 : next++;
    }
  }
  template <Backend B, Element T>
  static void look_up(Context<B>& ctx, MatrixView<const std::int32_t> ids,
                      const WeightMatrix& table, MatrixView<T> x) {
    const index_t count = ids.extent(1);
    for (index_t b = 0; b < ids.extent(0); ++b)
      embedding(ctx, VectorView<const std::int32_t>(ids.at(b)), table,
                x.slice(0, b * count, (b + 1) * count));
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
