// attention on SIMD vectors: blocks of queries on the lanes against one tile of keys after another.
#pragma once

#include <ashlar/kernels/simd/attention_decode.hpp>
#include <ashlar/kernels/simd/attention_panel.hpp>
#include <ashlar/ops/attention.hpp>
#include <optional>

namespace ashlar::inline ASHLAR_ABI::kernels {

/// A task is a block of panels of queries of one head: a tile of keys is brought into the
/// first-level cache once for all of them. Tasks go head by head, whose K and V then stay in
/// the outer caches, later queries first, as they see the most keys.
template <>
struct AttentionKernel<backend::SimdCpu> : AttentionKernel<backend::ScalarCpu> {
  using AttentionKernel<backend::ScalarCpu>::run;

  template <simd::HasKeySource Source, class Options>
  static void run(HostContext& ctx, TensorView<const float, 4> q, const Source& kv,
                  const Options& options, TensorView<float, 4> out) {
    // The same bits; a panel of so few queries would leave its lanes empty.
    constexpr index_t few_rows = 4;
    if (q.extent(1) <= few_rows)
      return AttentionDecodeKernel<backend::SimdCpu>::run(ctx, q, kv, options, out);
    const auto source = simd::key_source(kv);
    const Prefill<decltype(source), Options> prefill{q, source, options, out,
                                                     index_t{ctx.workers()}};
    const index_t blocks = ceil_div(q.extent(1), prefill.block_rows());
    Scratch::Frame frame(ctx.scratch());
    const index_t size = prefill.scratch_size();
    float* scratch = frame.get<float>(size * ctx.workers());
    parallel_for(ctx.executor(), q.extent(0) * q.extent(2) * blocks, [&](index_t task, int worker) {
      const index_t head = task / blocks, block = blocks - 1 - task % blocks;
      prefill.run(head / q.extent(2), head % q.extent(2), block * prefill.block_rows(),
                  scratch + worker * size);
    });
  }

 private:
  template <class Source, class Options>
  struct Prefill {
    using Panel = simd::QueryPanel<Options>;
    static constexpr index_t most_panels = 12;

    TensorView<const float, 4> q;
    const Source& kv;
    const Options& options;
    TensorView<float, 4> out;
    index_t workers;

    index_t key_width() const { return q.extent(3); }
    index_t value_width() const { return kv.value_width(); }
    /// As many panels as stay well inside the second-level cache and leave every worker some tasks.
    index_t panels() const {
      constexpr index_t budget = index_t{simd::lanes} << 13;  // floats
      const index_t most = min_index(budget / Panel::size(key_width(), value_width()), most_panels);
      const index_t all = ceil_div(q.extent(1), simd::panel_width);
      const index_t shared = all * q.extent(0) * q.extent(2) / (4 * workers);
      return max_index(1, min_index(all, min_index(most, shared)));
    }
    index_t block_rows() const { return panels() * simd::panel_width; }
    index_t scratch_size() const {
      return round_up(panels() * Panel::size(key_width(), value_width()) +
                          key_tile * simd::panel_width + simd::key_tile_scratch(kv),
                      16);
    }

    void run(index_t b, index_t n, index_t t0, float* scratch) const {
      const auto extent = detail::sequence_extent(options, kv, b, q.extent(1));
      const index_t end = min_index(t0 + block_rows(), q.extent(1));
      const index_t live = max_index(t0, min_index(end, extent.queries));
      for (index_t t = live; t < end; ++t) write_empty(b, n, t);
      if (live == t0) return;

      float* p = scratch;
      float* widened = p + key_tile * simd::panel_width;
      float* memory = widened + simd::key_tile_scratch(kv);
      const index_t count = ceil_div(live - t0, simd::panel_width);
      std::optional<Panel> panel[most_panels];
      for (index_t i = 0; i < count; ++i) {
        const index_t t = t0 + i * simd::panel_width;
        panel[i].emplace(simd::ScoreRule<simd::OnLanes::queries, Options>{options, b, n},
                         extent.q_offset + t, min_index(live - t, simd::panel_width), key_width(),
                         value_width(), memory + i * Panel::size(key_width(), value_width()));
        panel[i]->begin(q.data() + b * q.stride(0) + t * q.stride(1) + n * q.stride(2), q.stride(1),
                        query_scale());
      }
      add_keys(b, n, extent.keys, extent.q_offset + t0, extent.q_offset + live, panel, count, p,
               widened);
      for (index_t i = 0; i < count; ++i) {
        const index_t t = t0 + i * simd::panel_width;
        panel[i]->write(out.data() + b * out.stride(0) + t * out.stride(1) + n * out.stride(2),
                        out.stride(1), [&](index_t row, SoftmaxState<float>& state) {
                          float scale = 1.f;
                          if (options.sinks.data() != nullptr)
                            scale = add_sink(state, options.sinks(n));
                          if (!options.lse.empty())
                            options.lse(b, n, t + row) = static_cast<float>(log_sum_exp(state));
                          return scale;
                        });
      }
    }

    void add_keys(index_t b, index_t n, index_t keys, index_t q0, index_t q1,
                  std::optional<Panel>* panel, index_t count, float* p, float* widened) const {
      const index_t head = n / (q.extent(2) / kv.heads());
      for (index_t k0 = 0; k0 < keys; k0 += key_tile) {
        const index_t k1 = min_index(k0 + key_tile, keys);
        const TileKind kind = options.mask.classify(b, n, q0, q1, k0, k1);
        if (kind != TileKind::skip) {
          const simd::KeyTile tile =
              simd::key_tile_of(kv, b, head, k0 / key_tile, k1 - k0, widened);
          int finite = -1;  // not known yet
          for (index_t i = 0; i < count; ++i)
            panel[i]->add(tile, k0, k1 - k0, kind, p, [&] {
              if (finite < 0) finite = simd::finite(tile.v, value_width(), k1 - k0);
              return finite == 1;
            });
        }
        if (k1 % key_span == 0 || k1 == keys)
          for (index_t i = 0; i < count; ++i) panel[i]->end_span();
      }
    }

    /// q is scaled to log2 units at once where nothing looks at the score in between.
    float query_scale() const {
      const float scale = detail::softmax_scale(options, key_width());
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(options.score)>, NoScore>)
        return scale * 1.4426950408889634f;
      else
        return scale;
    }
    void write_empty(index_t b, index_t n, index_t t) const {
      for (index_t d = 0; d < value_width(); ++d) out(b, t, n, d) = 0.f;
      if (!options.lse.empty()) options.lse(b, n, t) = -HUGE_VALF;
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
