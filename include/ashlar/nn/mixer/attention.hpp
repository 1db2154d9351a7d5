// Attention: projections, QK-norm, positions, cache, and one of the attention functions.
#pragma once

#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/nn/kv_cache.hpp>
#include <ashlar/nn/norm/per_head.hpp>
#include <ashlar/nn/position/none.hpp>
#include <ashlar/ops/attention_decode.hpp>
#include <ashlar/ops/linear.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Grouped-query self-attention. With N = K it is multi-head, with K = 1 multi-query attention.
/// Source: Vaswani et al. 2017; Ainslie et al. 2023.
///
/// Shapes   x, y [B T, D]; q [N H, D], k [K H, D], v [K Hv, D], o [D, N Hv], and their biases where
///          the config has them
/// State    a cache: the call's keys and values are appended first; null: they are all there is
template <PositionPolicy Position, class QkNorm = NoQkNorm, MaskPolicy Mask = CausalMask,
          ScorePolicy Score = NoScore, class Cache = KvCache<float>>
struct Attention {
  struct Config {
    typename Position::Config position{};
    typename QkNorm::Config qk_norm{};
    Mask mask{};
    Score score{};
    float scale = 0.f;  // of q . k; 0 means 1 / sqrt(H)
    bool qkv_bias = false, out_bias = false;
  };
  struct Weights {
    WeightMatrix q, k, v, o;
    VectorView<const float> q_bias, k_bias, v_bias, o_bias;
    typename QkNorm::Weights q_norm, k_norm;
  };
  using State = Cache;

  static void visit(Weights& w, const Config& c, const Dims& d, auto&& f) {
    f("q", w.q, {d.n_heads * d.head_dim, d.d_model});
    f("k", w.k, {d.n_kv_heads * d.head_dim, d.d_model});
    f("v", w.v, {d.n_kv_heads * d.values(), d.d_model});
    f("o", w.o, {d.d_model, d.n_heads * d.values()});
    if (c.qkv_bias) {
      f("q_bias", w.q_bias, {d.n_heads * d.head_dim});
      f("k_bias", w.k_bias, {d.n_kv_heads * d.head_dim});
      f("v_bias", w.v_bias, {d.n_kv_heads * d.values()});
    }
    if (c.out_bias) f("o_bias", w.o_bias, {d.d_model});
    QkNorm::visit(w.q_norm, c.qk_norm, d.head_dim, prefixed("q_norm.", f));
    QkNorm::visit(w.k_norm, c.qk_norm, d.head_dim, prefixed("k_norm.", f));
  }

  static State make_state(const Config&, const Dims& d, index_t batch, index_t capacity) {
    return State(batch, capacity, d.n_kv_heads, d.head_dim, d.values());
  }

  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                    const TokenBatch& batch, State* cache, MatrixView<const T> x, MatrixView<T> y) {
    Scratch::Frame frame(ctx.scratch());
    const index_t M = batch.rows();
    const auto q = frame.tensor<T, 2>({M, d.n_heads * d.head_dim});
    const auto k = frame.tensor<T, 2>({M, d.n_kv_heads * d.head_dim});
    const auto v = frame.tensor<T, 2>({M, d.n_kv_heads * d.values()});
    const auto mixed = frame.tensor<T, 2>({M, d.n_heads * d.values()});
    linear(ctx, x, w.q, w.q_bias, q);
    linear(ctx, x, w.k, w.k_bias, k);
    linear(ctx, x, w.v, w.v_bias, v);

    const auto q_heads = split_heads(q, d.n_heads), k_heads = split_heads(k, d.n_kv_heads);
    QkNorm::apply(ctx, c.qk_norm, w.q_norm, q_heads);
    QkNorm::apply(ctx, c.qk_norm, w.k_norm, k_heads);
    Position::apply(ctx, c.position, batch, q_heads);
    Position::apply(ctx, c.position, batch, k_heads);

    const TensorView<const T, 4> queries = split_batch(q, batch, d.n_heads),
                                 keys = split_batch(k, batch, d.n_kv_heads),
                                 values = split_batch(v, batch, d.n_kv_heads);
    const auto out = split_batch(mixed, batch, d.n_heads);
    const AttentionOptions<Mask, Score> options{.mask = c.mask, .score = c.score, .scale = c.scale};
    if (cache == nullptr) {
      attention(ctx, queries, keys, values, out, options);
    } else {
      cache->append(ctx.executor(), keys, values);
      // Both give the same bits; the split over keys pays while there are few queries.
      if (batch.tokens() <= decode_tokens)
        attention_decode(ctx, queries, cache->tiles(), out, options);
      else
        attention(ctx, queries, cache->tiles(), out, options);
    }
    linear(ctx, MatrixView<const T>(mixed), w.o, w.o_bias, y);
  }

 private:
  static constexpr index_t decode_tokens = 4;
};

}  // namespace ashlar::inline ASHLAR_ABI
