// Attention: projections, QK-norm, positions, cache, and one of the attention functions.
#pragma once

#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/nn/kv_cache.hpp>
#include <ashlar/nn/mixer/score_slot.hpp>
#include <ashlar/nn/norm/qk_norm.hpp>
#include <ashlar/nn/position/none.hpp>
#include <ashlar/ops/activation.hpp>
#include <ashlar/ops/attention_decode.hpp>
#include <ashlar/ops/linear.hpp>
#include <ashlar/ops/map.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Which of a layer's projections have a bias.
struct AttentionBias {
  bool q = false, k = false, v = false, out = false;
};

namespace detail {
/// attention with few queries has a kernel of its own; both give the same bits.
template <Backend B, Element T, class Source, class Options>
void attend(Context<B>& ctx, TensorView<const T, 4> q, const Source& keys, TensorView<T, 4> out,
            const Options& options) {
  constexpr index_t decode_tokens = 4;  // the split over keys pays while there are few queries
  if (q.extent(1) <= decode_tokens)
    attention_decode(ctx, q, keys, out, options);
  else
    attention(ctx, q, keys, out, options);
}
}  // namespace detail

/// Grouped-query self-attention. With N = K it is multi-head, with K = 1 multi-query attention.
/// Source: Vaswani et al. 2017; Ainslie et al. 2023.
///
///   q, k, v = x Wq^T, x Wk^T, x Wv^T, clipped; QK-norm; value norm; positions on q and k
///   y = (softmax(mask(score(scale q k^T))) v * sigmoid(x Wg^T)) Wo^T
///
/// Shapes   x, y [B T, D]; q [N H, D], k [K H, D], v [K Hv, D], o [D, N Hv], and their biases, the
///          gate [N Hv, D] and the sinks [N] where the config has them
/// State    a cache: the call's keys and values are appended first; null: they are all there is,
///          and sequences end where the batch's lengths say
template <PositionPolicy Position, QkNormPolicy QkNorm = NoQkNorm, MaskPolicy Mask = CausalMask,
          ScoreChoice Score = NoScore, class Cache = KvCache<float>, NormPolicy ValueNorm = NoNorm>
struct Attention {
  using ScoreParts = ScoreSlot<Score>;

  struct Config {
    typename Position::Config position{};
    typename QkNorm::Config qk_norm{};
    typename ValueNorm::Config value_norm{};  // of every value head
    Mask mask{};
    typename ScoreParts::Config score{};
    float scale = 0.f;  // of q . k; 0 means 1 / sqrt(H)
    float clip = 0.f;   // q, k and v stay within +- clip; 0 means off
    AttentionBias bias{};
    bool sinks = false;         // a learned logit a head joins the softmax's denominator
    bool gated = false;         // outputs times sigmoid(gate(x)). Source: Qwen3-Next (2025)
    bool value_is_key = false;  // v is k before its norm and position. Source: Gemma 4
    bool shared = false;  // no keys and values of its own: the state is an earlier layer's, which
                          // has appended the call's. Source: Brandon et al. 2024, CLA
  };
  struct Weights {
    WeightMatrix q, k, v, gate, o;
    VectorView<const float> q_bias, k_bias, v_bias, o_bias, sinks;
    typename QkNorm::Weights q_norm, k_norm;
    typename ValueNorm::Weights v_norm;
    typename ScoreParts::Weights score;
  };
  using State = Cache;

  static void visit(Weights& w, const Config& c, const Dims& d, auto&& f) {
    const index_t q_width = d.n_heads * d.head_dim, k_width = d.n_kv_heads * d.head_dim,
                  v_width = d.n_kv_heads * d.values(), o_width = d.n_heads * d.values();
    const bool own = !c.shared, own_value = own && !c.value_is_key;
    f("q", w.q, {q_width, d.d_model});
    if (own) f("k", w.k, {k_width, d.d_model});
    if (own_value) f("v", w.v, {v_width, d.d_model});
    if (c.gated) f("gate", w.gate, {o_width, d.d_model});
    f("o", w.o, {d.d_model, o_width});
    if (c.bias.q) f("q_bias", w.q_bias, {q_width});
    if (c.bias.k && own) f("k_bias", w.k_bias, {k_width});
    if (c.bias.v && own_value) f("v_bias", w.v_bias, {v_width});
    if (c.bias.out) f("o_bias", w.o_bias, {d.d_model});
    if (c.sinks) f("sinks", w.sinks, {d.n_heads});
    QkNorm::visit(w.q_norm, c.qk_norm, d.n_heads, d.head_dim, prefixed("q_norm.", f));
    if (own) QkNorm::visit(w.k_norm, c.qk_norm, d.n_kv_heads, d.head_dim, prefixed("k_norm.", f));
    if (own) ValueNorm::visit(w.v_norm, c.value_norm, d.values(), prefixed("v_norm.", f));
    ScoreParts::visit(w.score, c.score, d, prefixed("score.", f));
  }

  /// A layer that shares another's state keeps none.
  static State make_state(const Config& c, const Dims& d, index_t batch, index_t capacity) {
    return c.shared ? State() : State(batch, capacity, d.n_kv_heads, d.head_dim, d.values());
  }

  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                    const BatchOf<B>& batch, StateOf<State, B, T>* cache, MatrixView<const T> x,
                    MatrixView<T> y) {
    if (c.shared && cache == nullptr)
      fail<ValueError>("Attention: a layer with shared keys needs the state of their layer");
    Scratch::Frame frame(ctx.scratch());
    const index_t M = batch.rows();
    const auto q = frame.tensor<T, 2>({M, d.n_heads * d.head_dim});
    const auto mixed = frame.tensor<T, 2>({M, d.n_heads * d.values()});
    project(ctx, c, x, w.q, w.q_bias, q);
    QkNorm::apply(ctx, c.qk_norm, w.q_norm, split_heads(q, d.n_heads));
    const auto turn_queries = [&] {
      Position::apply(ctx, c.position, batch, split_heads(q, d.n_heads));
    };

    const TensorView<const T, 4> queries = split_batch(q, batch, d.n_heads);
    const auto out = split_batch(mixed, batch, d.n_heads);
    const auto score = ScoreParts::make(c.score, w.score);
    AttentionOptions<Mask, std::remove_const_t<decltype(score)>> options{
        .mask = c.mask, .score = score, .scale = c.scale, .sinks = w.sinks};
    if (c.shared) {
      turn_queries();
      detail::attend(ctx, queries, cache->tiles(), out, options);
    } else {
      const auto k = frame.tensor<T, 2>({M, d.n_kv_heads * d.head_dim});
      const auto v = frame.tensor<T, 2>({M, d.n_kv_heads * d.values()});
      keys_and_values(ctx, c, w, d, x, k, v);
      const TensorView<const T, 4> keys = split_batch(k, batch, d.n_kv_heads),
                                   values = split_batch(v, batch, d.n_kv_heads);
      // A device's cache turns queries and keys and takes them in one pass.
      constexpr bool in_one = requires(TensorView<T, 4> all) {
        cache->append(ctx, batch, c.position, all, all, values);
      };
      if (!in_one || cache == nullptr) {
        turn_queries();
        Position::apply(ctx, c.position, batch, split_heads(k, d.n_kv_heads));
      }
      if (cache == nullptr) {
        options.q_lengths = options.kv_lengths = batch.lengths();
        options.q_offset = 0;
        attention(ctx, queries, keys, values, out, options);
      } else {
        if constexpr (in_one)
          cache->append(ctx, batch, c.position, split_batch(q, batch, d.n_heads),
                        split_batch(k, batch, d.n_kv_heads), values);
        else
          cache->append(ctx, keys, values);
        detail::attend(ctx, queries, cache->tiles(), out, options);
      }
    }
    if (c.gated) {
      const auto gate = frame.tensor<T, 2>({M, d.n_heads * d.values()});
      linear(ctx, x, w.gate, {}, gate);
      glu<act::Sigmoid>(ctx, MatrixView<const T>(gate), MatrixView<const T>(mixed), mixed);
    }
    linear(ctx, MatrixView<const T>(mixed), w.o, w.o_bias, y);
  }

 private:
  template <Backend B, Element T>
  static void project(Context<B>& ctx, const Config& c, MatrixView<const T> x,
                      const WeightMatrix& w, VectorView<const float> bias, MatrixView<T> y) {
    linear(ctx, x, w, bias, y);
    if (c.clip != 0.f) map(ctx, fn::Clip{c.clip}, y);
  }

  template <Backend B, Element T>
  static void keys_and_values(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                              MatrixView<const T> x, MatrixView<T> k, MatrixView<T> v) {
    const auto k_heads = split_heads(k, d.n_kv_heads);
    const auto v_rows = detail::rows_of_heads(split_heads(v, d.n_kv_heads), 1);
    project(ctx, c, x, w.k, w.k_bias, k);
    if (c.value_is_key)
      NoNorm::apply(ctx, {}, {}, MatrixView<const T>(k), v);
    else
      project(ctx, c, x, w.v, w.v_bias, v);
    if constexpr (!std::is_same_v<ValueNorm, NoNorm>)
      ValueNorm::apply(ctx, c.value_norm, w.v_norm, MatrixView<const T>(v_rows), v_rows);
    QkNorm::apply(ctx, c.qk_norm, w.k_norm, k_heads);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
