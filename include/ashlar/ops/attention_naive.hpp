// attention_naive: attention with its scores written out, the baseline and a second reference.
#pragma once

#include <algorithm>
#include <ashlar/attention/online_softmax.hpp>
#include <ashlar/backend/scalar.hpp>
#include <ashlar/core/fold.hpp>
#include <ashlar/ops/attention_checks.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace kernels {

template <class B>
struct AttentionNaiveKernel : AttentionNaiveKernel<typename B::fallback> {};
template <>
struct AttentionNaiveKernel<backend::None> {};

/// All scores of a row, then their softmax, then the weighted sum of values over all keys.
template <>
struct AttentionNaiveKernel<backend::ScalarCpu> {
  template <class T, class Options>
  static void run(HostContext& ctx, TensorView<const T, 4> q, const KvRows<T>& kv,
                  const Options& options, TensorView<T, 4> out) {
    using A = accumulator_t<T>;
    const index_t B = q.extent(0), rows = q.extent(1), N = q.extent(2), H = q.extent(3);
    const index_t S = kv.max_length(), group = N / kv.heads();
    const A scale = static_cast<A>(detail::softmax_scale(options, H));
    Scratch::Frame frame(ctx.scratch());
    A* scratch = frame.get<A>(S * ctx.workers());
    parallel_for(ctx.executor(), B * N * rows, [&](index_t task, int worker) {
      const index_t b = task / (N * rows), n = task / rows % N, t = task % rows, head = n / group;
      const auto extent = detail::sequence_extent(options, kv, b, rows);
      const index_t position = extent.q_offset + t, keys = t < extent.queries ? extent.keys : 0;
      const auto visible = [&](index_t j) -> bool { return options.mask.keep(b, n, position, j); };
      A* p = scratch + worker * S;
      SoftmaxState<A> state;
      for (index_t j = 0; j < keys; ++j) {
        A s = 0;
        if (visible(j)) {
          for (index_t h = 0; h < H; ++h)
            s = std::fma(static_cast<A>(q(b, t, n, h)) * scale,
                         static_cast<A>(kv.key(b, head, j, h)), s);
          s = log2_score(detail::apply_score(options.score, s, b, n, position, j));
        } else {
          s = -std::numeric_limits<A>::infinity();
        }
        p[j] = s;
        state.m = (std::max)(state.m, s);
      }
      const A base = softmax_base(state.m);
      for (index_t j = 0; j < keys; ++j) p[j] = math::exp2_nonpositive(p[j] - base);
      state.l = chained_sum<A>(keys, [&](index_t j) { return p[j]; });
      A scale_o = 1;
      if (options.sinks.data() != nullptr && t < extent.queries)
        scale_o = add_sink(state, static_cast<A>(options.sinks(n)));
      const A factor = state.l != 0 ? scale_o / state.l : A(0);
      for (index_t d = 0; d < kv.value_width(); ++d) {
        A o = 0;
        for (index_t j = 0; j < keys; ++j)
          if (visible(j)) o = std::fma(p[j], static_cast<A>(kv.value(b, head, j, d)), o);
        out(b, t, n, d) = static_cast<T>(std::fma(o, factor, A(0)));
      }
      if (!options.lse.empty()) options.lse(b, n, t) = static_cast<float>(log_sum_exp(state));
    });
  }
};

}  // namespace kernels

/// attention() with materialised scores: O(T S) memory, the same result within rounding. For tests
/// and as the baseline of the benchmarks.
///
/// Shapes   q [B, T, N, H], k [B, S, K, H], v [B, S, K, Hv], out [B, T, N, Hv]
/// Dtypes   as attention()
/// Throws   ShapeError, ValueError
template <Backend B, Element T, MaskPolicy Mask, ScorePolicy Score>
void attention_naive(Context<B>& ctx, TensorView<const T, 4> q,
                     std::type_identity_t<TensorView<const T, 4>> k,
                     std::type_identity_t<TensorView<const T, 4>> v,
                     std::type_identity_t<TensorView<T, 4>> out,
                     const AttentionOptions<Mask, Score>& options) {
  const KvRows<T> kv = detail::checked_rows<T>("attention_naive", k, v);
  detail::check_attention("attention_naive", q, kv, out, options);
  if (q.extent(0) * q.extent(1) == 0) return;
  kernels::AttentionNaiveKernel<B>::run(ctx, q, kv, options, out);
}

}  // namespace ashlar::inline ASHLAR_ABI
