// The kernel that merges the splits of attention_decode.hpp.
#pragma once

#include <ashlar/cuda/attention_splits.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Merges the splits of every query row in ascending order, lets the sink join, and writes out and
/// lse. A warp a row.
template <class Problem_>
struct AttentionCombine {
  using Problem = Problem_;
  using Arguments = DecodeArguments<Problem>;
  using T = typename Problem::T;
  static constexpr int needs_architecture = 0;
  static constexpr int warps = 4, threads = 32 * warps, blocks_per_multiprocessor = 8;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) {
    const Problem& p = a.problem;
    return {ceil_div(p.heads() * p.most_queries, warps), 1, p.q.extent(0)};
  }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const Problem& p = a.problem;
    const int lane = P::thread() % 32;
    const index_t row = index_t{P::block_x()} * warps + P::thread() / 32, b = P::block_z();
    const index_t head = row / p.most_queries, t = row % p.most_queries;
    if (head >= p.heads() || t >= p.stored_rows(b)) return;
    const auto extent = p.extent(b);
    const index_t splits = t < extent.queries ? a.results.used(extent.keys) : 0;
    const index_t width = p.kv.value_width();
    for (index_t d = lane; d < width || d == lane; d += 32) {
      SoftmaxState<float> state;
      float o = 0.f;
      for (index_t i = 0; i < splits; ++i) {
        const index_t at = a.result(b, head, t, i);
        const auto scales = merge(state, a.results.state[at]);
        const float part = d < width ? a.results.out[at * width + d] : 0.f;
        o = std::fma(scales.first, o, scales.second * part);
      }
      if (t < extent.queries) o *= join_sink(p, head, state);
      if (d < width) p.output(b, head, t)[d] = static_cast<T>(state.l != 0.f ? o / state.l : 0.f);
      if (d == 0) p.store_lse(b, head, t, natural_lse<P>(state));
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
