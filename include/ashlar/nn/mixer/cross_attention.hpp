// CrossAttention: queries from the stream, keys and values from a memory that stays the same.
#pragma once

#include <ashlar/attention/mask/none.hpp>
#include <ashlar/nn/mixer/attention.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Multi-head attention over another model's states. Source: Vaswani et al. 2017.
///
///   k, v = memory Wk^T, memory Wv^T, once;  q = x Wq^T;  y = softmax(scale q k^T) v Wo^T
///
/// Shapes   x, y [B T, D], memory [B S, Dm]; q [N H, D], k [K H, Dm], v [K Hv, Dm], o [D, N Hv],
/// and
///          their biases where the config has them
/// State    keys and values of the memory; every query sees the true tokens of its sequence
template <class Cache = KvCache<float>>
struct CrossAttention {
  struct Config {
    index_t memory_width = 0;  // Dm; 0 means D
    float scale = 0.f;         // of q . k; 0 means 1 / sqrt(H)
    AttentionBias bias{};
  };
  struct Weights {
    WeightMatrix q, k, v, o;
    VectorView<const float> q_bias, k_bias, v_bias, o_bias;
  };
  struct State {
    Cache cache;
    std::vector<index_t> lengths;  // true tokens of each sequence of the memory
  };

  static void visit(Weights& w, const Config& c, const Dims& d, auto&& f) {
    const index_t memory = c.memory_width ? c.memory_width : d.d_model;
    f("q", w.q, {d.n_heads * d.head_dim, d.d_model});
    f("k", w.k, {d.n_kv_heads * d.head_dim, memory});
    f("v", w.v, {d.n_kv_heads * d.values(), memory});
    f("o", w.o, {d.d_model, d.n_heads * d.values()});
    if (c.bias.q) f("q_bias", w.q_bias, {d.n_heads * d.head_dim});
    if (c.bias.k) f("k_bias", w.k_bias, {d.n_kv_heads * d.head_dim});
    if (c.bias.v) f("v_bias", w.v_bias, {d.n_kv_heads * d.values()});
    if (c.bias.out) f("o_bias", w.o_bias, {d.d_model});
  }

  /// Room for a memory of at most `capacity` tokens.
  static State make_state(const Config&, const Dims& d, index_t batch, index_t capacity) {
    return {Cache(batch, capacity, d.n_kv_heads, d.head_dim, d.values()),
            std::vector<index_t>(static_cast<std::size_t>(batch))};
  }

  /// Puts a memory in the place of the state's. `batch` has its lengths.
  template <Backend B, Element T>
  static void remember(Context<B>& ctx, const Config&, const Weights& w, const Dims& d,
                       const TokenBatch& batch, State& state, MatrixView<const T> memory) {
    Scratch::Frame frame(ctx.scratch());
    const auto [k, v] = keys_and_values(ctx, frame, w, d, memory);
    state.cache.truncate(0);
    state.cache.append(ctx.executor(), TensorView<const T, 4>(split_batch(k, batch, d.n_kv_heads)),
                       TensorView<const T, 4>(split_batch(v, batch, d.n_kv_heads)));
    for (index_t b = 0; b < batch.batch(); ++b)
      state.lengths[static_cast<std::size_t>(b)] = batch.lengths()(b, batch.tokens());
  }

  /// y of x, whose rows are those of `batch`.
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                    const TokenBatch& batch, const State& state, MatrixView<const T> x,
                    MatrixView<T> y) {
    around(ctx, w, d, batch, x, y, [&](TensorView<const T, 4> q, TensorView<T, 4> out) {
      AttentionOptions<> options{.scale = c.scale};
      options.q_offset = 0;
      options.kv_lengths = VectorView<const index_t>(state.lengths.data(),
                                                     {static_cast<index_t>(state.lengths.size())});
      detail::attend(ctx, q, state.cache.tiles(), out, options);
    });
  }

  /// The same with a memory that is used once: nothing is kept.
  template <Backend B, Element T>
  static void apply_once(Context<B>& ctx, const Config& c, const Weights& w, const Dims& d,
                         const TokenBatch& batch, const TokenBatch& memory_batch,
                         MatrixView<const T> memory, MatrixView<const T> x, MatrixView<T> y) {
    Scratch::Frame frame(ctx.scratch());
    const auto [k, v] = keys_and_values(ctx, frame, w, d, memory);
    const TensorView<const T, 4> keys = split_batch(k, memory_batch, d.n_kv_heads),
                                 values = split_batch(v, memory_batch, d.n_kv_heads);
    around(ctx, w, d, batch, x, y, [&](TensorView<const T, 4> q, TensorView<T, 4> out) {
      AttentionOptions<> options{.scale = c.scale};
      options.q_offset = 0;
      options.kv_lengths = memory_batch.lengths();
      attention(ctx, q, keys, values, out, options);
    });
  }

 private:
  template <class T>
  struct KeysAndValues {
    MatrixView<T> k, v;
  };
  template <Backend B, Element T>
  static KeysAndValues<T> keys_and_values(Context<B>& ctx, Scratch::Frame& frame, const Weights& w,
                                          const Dims& d, MatrixView<const T> memory) {
    const index_t rows = memory.extent(0);
    const KeysAndValues<T> r{frame.template tensor<T, 2>({rows, d.n_kv_heads * d.head_dim}),
                             frame.template tensor<T, 2>({rows, d.n_kv_heads * d.values()})};
    linear(ctx, memory, w.k, w.k_bias, r.k);
    linear(ctx, memory, w.v, w.v_bias, r.v);
    return r;
  }
  template <Backend B, Element T, class F>
  static void around(Context<B>& ctx, const Weights& w, const Dims& d, const TokenBatch& batch,
                     MatrixView<const T> x, MatrixView<T> y, F&& attend) {
    Scratch::Frame frame(ctx.scratch());
    const auto q = frame.tensor<T, 2>({batch.rows(), d.n_heads * d.head_dim});
    const auto mixed = frame.tensor<T, 2>({batch.rows(), d.n_heads * d.values()});
    linear(ctx, x, w.q, w.q_bias, q);
    attend(TensorView<const T, 4>(split_batch(q, batch, d.n_heads)),
           split_batch(mixed, batch, d.n_heads));
    linear(ctx, MatrixView<const T>(mixed), w.o, w.o_bias, y);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
