// attention_naive on SIMD vectors: all scores of a head in memory, products by the register tiles
// of attention. The benchmarks' baseline.
#pragma once

#include <algorithm>
#include <ashlar/kernels/simd/attention_scores.hpp>
#include <ashlar/kernels/simd/attention_source.hpp>
#include <ashlar/ops/attention_naive.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

/// One head after the other, K and V packed; three passes over its scores [panels][S][panel_width]:
/// q k^T with score and mask, softmax, product with V. Hidden scores are formed too, as usual
/// without tiles.
template <>
struct AttentionNaiveKernel<backend::SimdCpu> : AttentionNaiveKernel<backend::ScalarCpu> {
  using AttentionNaiveKernel<backend::ScalarCpu>::run;

  template <class Options>
  static void run(HostContext& ctx, TensorView<const float, 4> q, const KvRows<float>& kv,
                  const Options& options, TensorView<float, 4> out) {
    constexpr index_t W = simd::panel_width;
    const index_t T = q.extent(1), N = q.extent(2), panels = ceil_div(T, W);
    const index_t size = round_up(W * (q.extent(3) + kv.value_width()), 16);
    const index_t tile_size = simd::key_source(kv).tile_size();
    Scratch::Frame frame(ctx.scratch());
    float* s = frame.get<float>(panels * W * round_up(kv.max_length(), key_tile));
    float* state = frame.get<float>(panels * 2 * W);
    bool* finite = frame.get<bool>(ceil_div(kv.max_length(), key_tile));
    float* strips = frame.get<float>(ceil_div(kv.max_length(), key_tile) * tile_size);
    float* scratch = frame.get<float>(size * ctx.workers());
    for (index_t b = 0; b < q.extent(0); ++b)
      for (index_t n = 0; n < N; ++n) {
        const Head<Options> head{q,
                                 kv,
                                 options,
                                 out,
                                 b,
                                 n,
                                 n / (N / kv.heads()),
                                 finite,
                                 strips,
                                 tile_size,
                                 detail::sequence_extent(options, kv, b, T)};
        const index_t tiles = ceil_div(head.extent.keys, key_tile);
        parallel_for(ctx.executor(), tiles, [&](index_t tile, int) { head.pack(tile); });
        const auto panel_scores = [&](index_t p) {
          return s + p * W * round_up(kv.max_length(), key_tile);
        };
        parallel_for(ctx.executor(), panels, [&](index_t p, int worker) {
          head.scores(p * W, scratch + worker * size, panel_scores(p), state + p * 2 * W);
        });
        parallel_for(ctx.executor(), panels,
                     [&](index_t p, int) { head.softmax(panel_scores(p), state + p * 2 * W); });
        parallel_for(ctx.executor(), panels, [&](index_t p, int worker) {
          head.values(p * W, panel_scores(p), state + p * 2 * W, scratch + worker * size);
        });
      }
  }

 private:
  template <class Options>
  struct Head {
    using Rule = simd::ScoreRule<simd::OnLanes::queries, Options>;
    using Vf = simd::Vf;
    static constexpr int V = simd::panel_vectors, lanes = simd::lanes;
    static constexpr index_t W = simd::panel_width;

    TensorView<const float, 4> q;
    const KvRows<float>& kv;
    const Options& options;
    TensorView<float, 4> out;
    index_t b, n, kv_head;
    bool* finite;  // of V, by tile
    float* strips;
    index_t tile_size;
    detail::SequenceExtent extent;

    index_t H() const { return q.extent(3); }
    index_t Hv() const { return kv.value_width(); }
    /// Queries of the panel at t0 that exist.
    index_t rows(index_t t0) const { return max_index(0, min_index(extent.queries - t0, W)); }
    void pack(index_t tile) const {
      const index_t count = min_index(key_tile, extent.keys - tile * key_tile);
      simd::packed_strips(kv, b, kv_head, tile, count, strips + tile * tile_size);
      finite[tile] = simd::finite(this->tile(tile * key_tile).v, Hv(), count);
    }
    simd::KeyTile tile(index_t k0) const {
      const float* k = strips + k0 / key_tile * tile_size;
      return simd::key_tile_of(simd::StripTile<float>{k, k + key_tile * H(), H()});
    }
    /// Calls f(first key, keys) for every tile.
    template <class F>
    void each_tile(const F& f) const {
      for (index_t k0 = 0; k0 < extent.keys; k0 += key_tile)
        f(k0, min_index(key_tile, extent.keys - k0));
    }
    /// Calls f(row of scores, vector, its queries, position of the first, key) for a tile.
    template <class F>
    void each_vector(index_t t0, index_t k0, index_t count, float* s, const F& f) const {
      for (index_t j = k0; j < k0 + count; ++j)
        for (int v = 0; v < V; ++v)
          f(s + j * W + v * lanes, v, max_index(0, min_index(rows(t0) - v * lanes, lanes)),
            extent.q_offset + t0 + v * lanes, j);
    }
    TileKind classify(index_t t0, index_t k0, index_t count) const {
      const index_t position = extent.q_offset + t0;
      return Rule{options, b, n}.classify(position, position + rows(t0), k0, k0 + count);
    }

    /// s = scores in log2 units, state = their maxima.
    void scores(index_t t0, float* panel, float* s, float* state) const {
      const Rule rule{options, b, n};
      simd::pack_queries(q.data() + b * q.stride(0) + t0 * q.stride(1) + n * q.stride(2),
                         q.stride(1), rows(t0), H(), detail::softmax_scale(options, H()), panel);
      Vf m[V], ignored[V];
      for (int v = 0; v < V; ++v) m[v] = ignored[v] = simd::set1(-HUGE_VALF);
      each_tile([&](index_t k0, index_t count) {
        const simd::KeyTile keys = tile(k0);
        for (index_t j = 0; j < count; j += simd::tile_items)
          simd::scores(panel, H(), keys.k, j, min_index(simd::tile_items, count - j), 0, V,
                       s + k0 * W, ignored);
        const TileKind kind = classify(t0, k0, count);
        each_vector(t0, k0, count, s,
                    [&](float* x, int v, index_t queries, index_t position, index_t key) {
                      rule.scored(x, queries, position, key, kind);
                      m[v] = simd::maximum(simd::load(x), m[v]);
                    });
      });
      for (int v = 0; v < V; ++v) simd::store(state + v * lanes, m[v]);
    }

    /// s = 2^(s - max), state = maxima and sums.
    void softmax(float* s, float* state) const {
      for (int v = 0; v < V; ++v) {
        const Vf base = simd::base_of(simd::load(state + v * lanes));
        Vf c[sum_chains];
        for (Vf& x : c) x = simd::set1(0.f);
        for (index_t j = 0; j < extent.keys; ++j) {
          float* x = s + j * W + v * lanes;
          const Vf p = math::exp2_nonpositive(simd::sub(simd::load(x), base));
          simd::store(x, p);
          c[j % sum_chains] = simd::add(c[j % sum_chains], p);
        }
        for (index_t w = sum_chains / 2; w > 0; w /= 2)
          for (index_t i = 0; i < w; ++i) c[i] = simd::add(c[i], c[i + w]);
        simd::store(state + W + v * lanes, c[0]);
      }
    }

    /// out = s V / sum
    void values(index_t t0, float* s, const float* state, float* o) const {
      const Rule rule{options, b, n};
      std::fill(o, o + Hv() * W, 0.f);
      each_tile([&](index_t k0, index_t count) {
        const simd::Operand v = tile(k0).v;
        if (finite[k0 / key_tile])
          return simd::values(s + k0 * W, v, Hv(), 0, count, 0, V, o, nullptr);
        const TileKind kind = classify(t0, k0, count);
        each_vector(t0, k0, count, s,
                    [&](float* x, int, index_t queries, index_t position, index_t key) {
                      rule.masked(x, queries, position, key, kind, -1.f);
                    });
        simd::values_selected(s + k0 * W, v, Hv(), count, V, o, nullptr);
      });
      float scale[W], factor[W] = {};
      for (float& x : scale) x = 1.f;
      for (index_t i = 0; i < rows(t0); ++i) {
        SoftmaxState<float> row{state[i], state[W + i]};
        float scale_o = 1.f;
        if (options.sinks.data() != nullptr) scale_o = add_sink(row, options.sinks(n));
        factor[i] = row.l != 0.f ? scale_o / row.l : 0.f;
        if (!options.lse.empty()) options.lse(b, n, t0 + i) = static_cast<float>(log_sum_exp(row));
      }
      simd::unpack_outputs(o, rows(t0), Hv(), scale, factor,
                           out.data() + b * out.stride(0) + t0 * out.stride(1) + n * out.stride(2),
                           out.stride(1));
      for (index_t t = t0 + rows(t0); t < min_index(t0 + W, q.extent(1)); ++t) {
        for (index_t d = 0; d < Hv(); ++d) out(b, t, n, d) = 0.f;
        if (!options.lse.empty()) options.lse(b, n, t) = -HUGE_VALF;
      }
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
