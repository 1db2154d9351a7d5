// attention: softmax(scale q k^T) v in tiles with the online softmax. The scalar kernel is the
// contract.
#pragma once

#include <algorithm>
#include <ashlar/attention/online_softmax.hpp>
#include <ashlar/backend/scalar.hpp>
#include <ashlar/core/fold.hpp>
#include <ashlar/ops/attention_checks.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace kernels {

template <class B>
struct AttentionKernel : AttentionKernel<typename B::fallback> {};
template <>
struct AttentionKernel<backend::None> {};

/// The order of accumulation, one query row at a time: scores are chains over h; tiles of 64 keys
/// in ascending order inside a span of 256; spans start afresh and are merged in ascending order.
/// Hidden keys are selected away, never multiplied by zero.
template <>
struct AttentionKernel<backend::ScalarCpu> {
  template <class T, class Source, class Options>
  static void run(HostContext& ctx, TensorView<const T, 4> q, const Source& kv,
                  const Options& options, TensorView<T, 4> out) {
    using A = accumulator_t<T>;
    const index_t B = q.extent(0), rows = q.extent(1), N = q.extent(2), H = q.extent(3);
    const index_t Hv = kv.value_width();
    Scratch::Frame frame(ctx.scratch());
    A* scratch = frame.get<A>((H + 2 * Hv) * ctx.workers());
    parallel_for(ctx.executor(), B * N * rows, [&](index_t task, int worker) {
      const index_t b = task / (N * rows), n = task / rows % N, t = task % rows;
      Row<A, Source, Options> row{kv, options, b, n, n / (N / kv.heads()), H, Hv};
      row.q = scratch + worker * (H + 2 * Hv);
      row.o = row.q + H;
      row.span_o = row.o + Hv;
      const SoftmaxState<A> state = row.attend(q, t);
      for (index_t d = 0; d < Hv; ++d)
        out(b, t, n, d) =
            static_cast<T>(state.l != 0 ? std::fma(row.o[d], A(1) / state.l, A(0)) : A(0));
      if (!options.lse.empty()) options.lse(b, n, t) = static_cast<float>(log_sum_exp(state));
    });
  }

 private:
  template <class A, class Source, class Options>
  struct Row {
    const Source& kv;
    const Options& options;
    index_t b, n, kv_head, H, Hv;
    A *q = nullptr, *o = nullptr, *span_o = nullptr;

    template <class T>
    SoftmaxState<A> attend(TensorView<const T, 4> queries, index_t t) {
      const auto extent = detail::sequence_extent(options, kv, b, queries.extent(1));
      std::fill(o, o + Hv, A(0));
      SoftmaxState<A> state;
      if (t >= extent.queries) return state;
      const A scale = to_score_units(detail::softmax_scale(options, H));
      for (index_t h = 0; h < H; ++h) q[h] = static_cast<A>(queries(b, t, n, h)) * scale;

      for (index_t s0 = 0; s0 < extent.keys; s0 += key_span) {
        std::fill(span_o, span_o + Hv, A(0));
        SoftmaxState<A> span;
        for (index_t t0 = s0; t0 < min_index(extent.keys, s0 + key_span); t0 += key_tile)
          add_tile(span, t0, min_index(extent.keys - t0, key_tile), extent.q_offset + t);
        if (s0 == 0) {
          state = span;
          std::copy(span_o, span_o + Hv, o);
        } else {
          const MergeScales<A> s = merge(state, span);
          for (index_t d = 0; d < Hv; ++d) o[d] = std::fma(s.first, o[d], s.second * span_o[d]);
        }
      }
      if (options.sinks.data() != nullptr) {
        const A scale_o = add_sink(state, static_cast<A>(options.sinks(n)));
        for (index_t d = 0; d < Hv; ++d) o[d] = scale_o * o[d];
      }
      return state;
    }

    /// q is scaled to log2 units at once where nothing looks at the score in between.
    A to_score_units(float scale) const {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(options.score)>, NoScore>)
        return static_cast<A>(scale) * static_cast<A>(1.4426950408889634);
      else
        return static_cast<A>(scale);
    }

    void add_tile(SoftmaxState<A>& span, index_t k0, index_t count, index_t position) {
      A s[key_tile], p[key_tile];
      bool visible[key_tile];
      A m = span.m;
      for (index_t j = 0; j < count; ++j) {
        visible[j] = options.mask.keep(b, n, position, k0 + j);
        s[j] = visible[j] ? score(position, k0 + j) : -std::numeric_limits<A>::infinity();
        m = (std::max)(m, s[j]);
      }
      const A base = softmax_base(m), decay = math::exp2_nonpositive(span.m - base);
      for (index_t j = 0; j < key_tile; ++j)
        p[j] = j < count && visible[j] ? math::exp2_nonpositive(s[j] - base) : A(0);
      for (index_t d = 0; d < Hv; ++d) {
        A a = decay * span_o[d];
        for (index_t j = 0; j < count; ++j)
          if (visible[j]) a = std::fma(p[j], static_cast<A>(kv.value(b, kv_head, k0 + j, d)), a);
        span_o[d] = a;
      }
      span.l = std::fma(decay, span.l, fold(p));
      span.m = m;
    }

    A score(index_t position, index_t key) const {
      A s = 0;
      for (index_t h = 0; h < H; ++h)
        s = std::fma(q[h], static_cast<A>(kv.key(b, kv_head, key, h)), s);
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(options.score)>, NoScore>) return s;
      // Natural units for the score functor; the step to log2 units is rounded by itself.
      else
        return log2_score(detail::apply_score(options.score, s, b, n, position, key));
    }
  };
};

}  // namespace kernels

/// Scaled dot-product attention in tiles with the online softmax: exact, without the [T, S] scores.
///   out = softmax(mask(score(scale q k^T))) v
/// Source: Vaswani et al. 2017; Dao et al. 2022 (FlashAttention); grouped heads: Ainslie et al.
/// 2023.
///
/// Shapes   q [B, T, N, H], k [B, S, K, H], v [B, S, K, Hv], out [B, T, N, Hv]; N a multiple of K,
/// query
///          head n reads key head n / (N / K); any outer strides; lse [B, N, T]
/// Dtypes   all alike: float, double, half, bfloat16; sums in f32 (f64 for double)
/// Cost     2 B N T S (H + Hv) flops less what the mask hides; O(T + S) memory
/// Throws   ShapeError, ValueError
/// Bits     a row of out depends on its query and visible keys only (V4, V15)
template <Backend B, Element T, MaskPolicy Mask, ScorePolicy Score>
void attention(Context<B>& ctx, TensorView<const T, 4> q,
               std::type_identity_t<TensorView<const T, 4>> k,
               std::type_identity_t<TensorView<const T, 4>> v,
               std::type_identity_t<TensorView<T, 4>> out,
               const AttentionOptions<Mask, Score>& options) {
  const KvRows<T> kv = detail::checked_rows<T>("attention", k, v);
  detail::check_attention("attention", q, kv, out, options);
  if (q.extent(0) * q.extent(1) == 0) return;
  kernels::AttentionKernel<B>::run(ctx, q, kv, options, out);
}

/// The same on a cache in tiles (KvCache::tiles()).
/// Shapes   as above, with k and v in tiles
template <Backend B, Element T, class E, MaskPolicy Mask, ScorePolicy Score>
void attention(Context<B>& ctx, TensorView<const T, 4> q, const KvTiles<E>& kv,
               std::type_identity_t<TensorView<T, 4>> out,
               const AttentionOptions<Mask, Score>& options) {
  detail::check_attention("attention", q, kv, out, options);
  if (q.extent(0) * q.extent(1) == 0) return;
  kernels::AttentionKernel<B>::run(ctx, q, kv, options, out);
}

}  // namespace ashlar::inline ASHLAR_ABI
