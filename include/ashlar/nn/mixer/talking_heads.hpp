// TalkingHeads: attention whose heads mix their scores before and after the softmax.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/linear.hpp>
#include <ashlar/ops/map.hpp>
#include <ashlar/ops/softmax.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Shazeer et al. 2020; Touvron et al. 2021, CaiT.
///
///   s_h = scale q_h k_h^T;  p = softmax(L s + l) over keys;  y = (W p + w) v Wo^T
///
/// with L and W [N, N] over the heads. Every token sees every true token of its sequence; the
/// scores of a sequence, N T^2 numbers, are held at once. Shapes   x, y [B T, D]; q, k, v [N H, D],
/// o [D, N H], and their biases where the config has them;
///          scores and weights [N, N] (row by row) and their biases [N]
/// Dtypes   float
struct TalkingHeads {
  struct Config {
    float scale = 0.f;  // of q . k; 0 means 1 / sqrt(H)
    bool qkv_bias = true;
  };
  struct Weights {
    WeightMatrix q, k, v, o;
    VectorView<const float> q_bias, k_bias, v_bias, o_bias;
    VectorView<const float> scores, scores_bias, weights, weights_bias;  // L, l, W, w
  };
  struct State {};  // nothing is kept

  static void visit(Weights& w, const Config& c, const Dims& d, auto&& f) {
    const index_t N = d.n_heads, width = N * d.head_dim;
    f("q", w.q, {width, d.d_model});
    f("k", w.k, {width, d.d_model});
    f("v", w.v, {width, d.d_model});
    f("o", w.o, {d.d_model, width});
    if (c.qkv_bias) {
      f("q_bias", w.q_bias, {width});
      f("k_bias", w.k_bias, {width});
      f("v_bias", w.v_bias, {width});
    }
    f("o_bias", w.o_bias, {d.d_model});
    f("scores", w.scores, {N * N});
    f("scores_bias", w.scores_bias, {N});
    f("weights", w.weights, {N * N});
    f("weights_bias", w.weights_bias, {N});
  }
  static State make_state(const Config&, const Dims&, index_t, index_t) { return {}; }

  /// Throws ValueError for a state: there is no cache.
  template <Backend B>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                    const TokenBatch& batch, State* state, MatrixView<const float> x,
                    MatrixView<float> y) {
    if (state != nullptr) fail<ValueError>("TalkingHeads: keeps no earlier tokens");
    Scratch::Frame frame(ctx.scratch());
    const index_t M = batch.rows(), width = d.n_heads * d.head_dim;
    const auto rows = [&] { return frame.tensor<float, 2>({M, width}); };
    const auto q = rows(), k = rows(), v = rows(), mixed = rows();
    linear(ctx, x, w.q, w.q_bias, q);
    linear(ctx, x, w.k, w.k_bias, k);
    linear(ctx, x, w.v, w.v_bias, v);
    const float scale = c.scale != 0.f
                            ? c.scale
                            : static_cast<float>(1.0 / std::sqrt(static_cast<double>(d.head_dim)));
    map(ctx, fn::Scale{scale}, q);
    for (index_t b = 0; b < batch.batch(); ++b) {
      const index_t first = b * batch.tokens(), end = first + batch.tokens(),
                    keys = batch.lengths()(b, batch.tokens());
      const auto out = mixed.slice(0, first, end);
      attend(ctx, w, d, q.slice(0, first, end), k.slice(0, first, first + keys),
             v.slice(0, first, first + keys), out);
    }
    linear(ctx, MatrixView<const float>(mixed), w.o, w.o_bias, y);
  }

 private:
  /// One sequence: q, out [T, N H], k, v [S, N H].
  template <Backend B>
  static void attend(Context<B>& ctx, const Weights& w, const Dims& d, MatrixView<float> q,
                     MatrixView<float> k, MatrixView<float> v, MatrixView<float> out) {
    const index_t N = d.n_heads, H = d.head_dim, T = q.extent(0), S = k.extent(0);
    Scratch::Frame frame(ctx.scratch());
    const auto s = frame.tensor<float, 3>({N, T, S}), p = frame.tensor<float, 3>({N, T, S});
    const auto v_columns = frame.tensor<float, 2>({H, S});
    const auto head = [&](MatrixView<float> m, index_t h) {
      return m.slice(1, h * H, (h + 1) * H);
    };
    for (index_t h = 0; h < N; ++h)
      linear(ctx, MatrixView<const float>(head(q, h)), WeightMatrix(head(k, h)), {}, s.at(h));
    mix(ctx, w.scores, w.scores_bias, s, p);
    const MatrixView<float> all(p.data(), {N * T, S});
    softmax(ctx, MatrixView<const float>(all), all);
    mix(ctx, w.weights, w.weights_bias, p, s);
    for (index_t h = 0; h < N; ++h) {
      for (index_t j = 0; j < S; ++j)
        for (index_t i = 0; i < H; ++i) v_columns(i, j) = v(j, h * H + i);
      linear(ctx, MatrixView<const float>(s.at(h)), WeightMatrix(v_columns), {}, head(out, h));
    }
  }
  /// y[h] = bias[h] + sum over g of m[h][g] x[g], for every query and key.
  template <Backend B>
  static void mix(Context<B>& ctx, VectorView<const float> m, VectorView<const float> bias,
                  TensorView<const float, 3> x, TensorView<float, 3> y) {
    const index_t N = x.extent(0), S = x.extent(2);
    parallel_for(ctx.executor(), x.extent(1), [&](index_t t, int) {
      for (index_t h = 0; h < N; ++h)
        for (index_t j = 0; j < S; ++j) {
          float sum = 0;
          for (index_t g = 0; g < N; ++g) sum = std::fma(m(h * N + g), x(g, t, j), sum);
          y(h, t, j) = sum + bias(h);
        }
    });
  }
};
static_assert(MixerPolicy<TalkingHeads>);

}  // namespace ashlar::inline ASHLAR_ABI
