// attention_decode on SIMD vectors: keys on the lanes for the scores, columns of V for the values.
#pragma once

#include <algorithm>
#include <ashlar/kernels/simd/attention_scores.hpp>
#include <ashlar/kernels/simd/attention_strips.hpp>
#include <ashlar/ops/attention_decode.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

/// A task is a span of 256 keys of one key head, for all queries that share it: K and V are read
/// once. Spans leave their state in scratch and are merged in ascending order.
template <>
struct AttentionDecodeKernel<backend::SimdCpu> : AttentionDecodeKernel<backend::ScalarCpu> {
  using AttentionDecodeKernel<backend::ScalarCpu>::run;

  template <simd::HasKeySource Source, class Options>
  static void run(HostContext& ctx, TensorView<const float, 4> q, const Source& kv,
                  const Options& options, TensorView<float, 4> out) {
    const auto source = simd::key_source(kv);
    constexpr index_t most_rows = 16;  // bounds the memory of the spans
    for (index_t t = 0; t < q.extent(1); t += most_rows)
      Decode<decltype(source), Options>{q,   source, options,
                                        out, t,      min_index(t + most_rows, q.extent(1))}
          .run(ctx);
  }

 private:
  template <class Source, class Options>
  struct Decode {
    using Rule = simd::ScoreRule<simd::OnLanes::keys, Options>;
    static constexpr bool scored = !std::is_same_v<typename Rule::ScoreType, NoScore>;

    TensorView<const float, 4> q;
    const Source& kv;
    const Options& options;
    TensorView<float, 4> out;
    index_t t0, t1;

    index_t H() const { return q.extent(3); }
    index_t Hv() const { return kv.value_width(); }
    index_t padded() const { return round_up(Hv(), strip_width); }
    index_t group() const { return q.extent(2) / kv.heads(); }
    /// Row r of a key head is query t0 + r % (t1 - t0) of its head r / (t1 - t0).
    index_t rows() const { return group() * (t1 - t0); }
    /// At least one, whose state is then the empty one.
    index_t spans() const {
      index_t longest = 1;
      for (index_t b = 0; b < q.extent(0); ++b) longest = max_index(longest, extent(b).keys);
      return ceil_div(longest, key_span);
    }
    detail::SequenceExtent extent(index_t b) const {
      return detail::sequence_extent(options, kv, b, q.extent(1));
    }
    /// Scratch of a worker: q, weights, packed tile.
    index_t scratch_size() const {
      return round_up(rows() * (H() + key_tile) + simd::strip_scratch(kv), 16);
    }

    void run(HostContext& ctx) const {
      const index_t heads = q.extent(0) * kv.heads(), n_spans = spans(), size = scratch_size();
      Scratch::Frame frame(ctx.scratch());
      float* outputs = frame.get<float>(heads * n_spans * rows() * padded());
      auto* states = frame.get<SoftmaxState<float>>(heads * n_spans * rows());
      float* scratch = frame.get<float>(size * ctx.workers());
      parallel_for(ctx.executor(), heads * n_spans, [&](index_t task, int worker) {
        const index_t head = task / n_spans, span = task % n_spans;
        add_span(head / kv.heads(), head % kv.heads(), span * key_span,
                 outputs + task * rows() * padded(), states + task * rows(),
                 scratch + worker * size);
      });
      parallel_for(ctx.executor(), heads * rows(), [&](index_t task, int) {
        const index_t head = task / rows(), r = task % rows();
        finish(head / kv.heads(), head % kv.heads(), r,
               outputs + (head * n_spans * rows() + r) * padded(),
               states + head * n_spans * rows() + r);
      });
    }

    /// Head and row of t of row r.
    index_t head_of(index_t head, index_t r) const { return head * group() + r / (t1 - t0); }
    index_t row_of(index_t r) const { return t0 + r % (t1 - t0); }

    void add_span(index_t b, index_t head, index_t s0, float* o, SoftmaxState<float>* state,
                  float* scratch) const {
      const auto e = extent(b);
      std::fill(o, o + rows() * padded(), 0.f);
      std::fill(state, state + rows(), SoftmaxState<float>{});
      if (s0 >= e.keys) return;
      float *x = scratch, *p = x + rows() * H(), *packed = p + rows() * key_tile;
      for (index_t r = 0; r < rows(); ++r)
        for (index_t h = 0; h < H(); ++h)
          x[r * H() + h] = q(b, row_of(r), head_of(head, r), h) * query_scale();
      for (index_t k0 = s0; k0 < min_index(e.keys, s0 + key_span); k0 += key_tile)
        add_tile(b, head, e, k0, x, p, packed, o, state);
    }

    void add_tile(index_t b, index_t head, const detail::SequenceExtent& e, index_t k0,
                  const float* x, float* p, float* packed, float* o,
                  SoftmaxState<float>* state) const {
      const index_t count = min_index(e.keys - k0, key_tile);
      bool visible = false, all = true;
      for (index_t r = 0; r < rows(); ++r) {
        const TileKind kind = kind_of(b, head, e, r, k0, count);
        visible = visible || kind != TileKind::skip;
        all = all && kind == TileKind::full;
      }
      if (!visible) return;
      const auto tile = simd::strip_tile_of(kv, b, head, k0 / key_tile, count, packed);
      std::fill(p, p + rows() * key_tile, 0.f);
      for (index_t c = 0; c < count; c += strip_width)
        simd::add_strip(x, H(), rows(), tile.k + c * tile.k_rows, H(), p + c, key_tile);
      for (index_t r = 0; r < rows(); ++r)
        weigh(b, head, e, r, k0, count, p + r * key_tile, o + r * padded(), state[r]);
      if (all || simd::finite_strips(tile.v, Hv(), count)) {
        for (index_t d = 0; d < padded(); d += strip_width)
          simd::add_strip(p, key_tile, rows(), tile.v + d * key_tile, count, o + d, padded());
        return;
      }
      for (index_t r = 0; r < rows(); ++r) {
        const TileKind kind = kind_of(b, head, e, r, k0, count);
        each_vector(count, [&](index_t j, index_t n) {
          rule(b, head, r)
              .masked(p + r * key_tile + j, n, e.q_offset + row_of(r), k0 + j, kind, -1.f);
        });
        simd::add_visible_rows(p + r * key_tile, tile.v, count, Hv(), o + r * padded());
      }
    }

    /// Scores of one row become weights; its output is scaled to the new maximum.
    void weigh(index_t b, index_t head, const detail::SequenceExtent& e, index_t r, index_t k0,
               index_t count, float* p, float* o, SoftmaxState<float>& state) const {
      using simd::lanes, simd::load, simd::store, simd::Vf;
      const TileKind kind = kind_of(b, head, e, r, k0, count);
      each_vector(count, [&](index_t j, index_t n) {
        if constexpr (scored)
          rule(b, head, r).scored(p + j, n, e.q_offset + row_of(r), k0 + j, kind);
        else
          rule(b, head, r).masked(p + j, n, e.q_offset + row_of(r), k0 + j, kind, -HUGE_VALF);
      });
      std::fill(p + count, p + key_tile, -HUGE_VALF);

      Vf weight[key_tile / lanes], m = simd::set1(state.m);
      for (int i = 0; i < key_tile / lanes; ++i) m = simd::maximum(load(p + i * lanes), m);
      const float top = simd::horizontal_max(m), base = softmax_base(top);
      for (int i = 0; i < key_tile / lanes; ++i) {
        weight[i] = math::exp2_nonpositive(simd::sub(load(p + i * lanes), simd::set1(base)));
        store(p + i * lanes, weight[i]);
      }
      const float decay = math::exp2_nonpositive(state.m - base);
      state.l = std::fma(decay, state.l, simd::fold(weight));
      state.m = top;
      for (index_t d = 0; d < padded(); d += lanes)
        store(o + d, simd::mul(simd::set1(decay), load(o + d)));
    }

    /// Merges the spans of a row and writes it.
    void finish(index_t b, index_t head, index_t r, float* o, SoftmaxState<float>* state) const {
      using simd::load, simd::mul, simd::set1, simd::store;
      const index_t n = head_of(head, r), t = row_of(r);
      const auto e = extent(b);
      SoftmaxState<float> total;
      float scale = 1.f;
      if (t < e.queries) {
        total = *state;
        for (index_t s = 1; s < ceil_div(e.keys, key_span); ++s) {
          const float* o2 = o + s * rows() * padded();
          const MergeScales<float> m = merge(total, state[s * rows()]);
          for (index_t d = 0; d < padded(); d += simd::lanes)
            store(o + d, simd::fma(set1(m.first), load(o + d), mul(set1(m.second), load(o2 + d))));
        }
        if (options.sinks.data() != nullptr) scale = add_sink(total, options.sinks(n));
      }
      const float factor = 1.f / total.l;
      for (index_t d = 0; d < Hv(); ++d)
        out(b, t, n, d) = total.l != 0.f ? std::fma(scale * o[d], factor, 0.f) : 0.f;
      if (!options.lse.empty()) options.lse(b, n, t) = static_cast<float>(log_sum_exp(total));
    }

    Rule rule(index_t b, index_t head, index_t r) const { return {options, b, head_of(head, r)}; }
    TileKind kind_of(index_t b, index_t head, const detail::SequenceExtent& e, index_t r,
                     index_t k0, index_t count) const {
      const index_t position = e.q_offset + row_of(r);
      if (row_of(r) >= e.queries) return TileKind::skip;
      return rule(b, head, r).classify(position, position + 1, k0, k0 + count);
    }
    template <class F>
    static void each_vector(index_t count, const F& f) {
      for (index_t j = 0; j < count; j += simd::lanes) f(j, min_index(simd::lanes, count - j));
    }
    float query_scale() const {
      const float scale = detail::softmax_scale(options, H());
      return scored ? scale : scale * 1.4426950408889634f;
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
