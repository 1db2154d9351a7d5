// Attention in f32 without tensor cores: any architecture, element type and alignment, heads of up
// to 1024 elements.
#pragma once

#include <ashlar/cuda/attention_problem.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

inline constexpr index_t widest_fallback_head = 1024;

/// softmax(mask(score(scale q k^T))) v with products and sums in f32. A warp has two query rows, a
/// lane one of 32 keys while scores are formed and every 32nd column of the output afterwards.
/// Hidden values are never touched: what a query does not see changes no bit of its result (V4).
template <class Problem>
struct AttentionFallback {
  using Arguments = Problem;
  using T = typename Problem::T;
  static constexpr int needs_architecture = 0;
  static constexpr int warps = 4, threads = 32 * warps, rows_per_warp = 2;
  static constexpr int queries = warps * rows_per_warp, keys = 32;
  static constexpr int blocks_per_multiprocessor = 1;

  /// Queries and outputs of the block in f32, and 32 columns of 32 keys, a row of which is one
  /// element longer so that lanes reach different banks.
  static std::size_t shared_bytes(const Arguments& a) {
    const index_t widths = a.q.extent(3) + a.kv.value_width();
    return static_cast<std::size_t>(queries * widths + keys * (keys + 1)) * sizeof(float);
  }
  static Grid grid(const Arguments& a) {
    return {ceil_div(a.most_queries, queries), a.heads(), a.q.extent(0)};
  }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const int thread = P::thread(), lane = thread % 32, warp = thread / 32;
    const index_t b = P::block_z(), head = P::block_y(), key_head = a.key_head(head);
    const index_t q0 = (ceil_div(a.most_queries, queries) - 1 - P::block_x()) * queries;
    if (q0 >= a.stored_rows(b)) return;
    const auto extent = a.extent(b);
    const index_t rows = min_index(extent.queries - q0, queries), t0 = q0 + warp * rows_per_warp;
    const int H = static_cast<int>(a.q.extent(3)), Hv = static_cast<int>(a.kv.value_width());
    const Shared memory{P::shared_base(), H, Hv};

    for (int r = 0; r < rows_per_warp; ++r) {
      const int row = warp * rows_per_warp + r;
      for (int h = lane; h < H; h += 32)
        P::store_shared(memory.query(row, h),
                        t0 + r < extent.queries ? load(a.query(b, head, t0 + r) + h) : 0.f);
      for (int d = lane; d < Hv; d += 32) P::store_shared(memory.output(row, d), 0.f);
    }
    const float factor = Problem::has_score ? 1.f : a.scale * 1.4426950408889634f;
    SoftmaxState<float> state[rows_per_warp];
    for (index_t k0 = 0; k0 < extent.keys && rows > 0; k0 += keys) {
      const index_t k1 = min_index(k0 + keys, extent.keys);
      const TileKind kind = a.options.mask.classify(b, head, extent.q_offset + q0,
                                                    extent.q_offset + q0 + rows, k0, k1);
      if (kind == TileKind::skip) continue;
      float s[rows_per_warp] = {};
      for (int h0 = 0; h0 < H; h0 += keys) {
        P::sync_block();  // nobody reads the columns before any more
        for (int n = thread; n < keys * keys; n += threads) {
          const int row = n / keys, h = h0 + n % keys;
          const bool inside = k0 + row < k1 && h < H;
          P::store_shared(memory.key(row, n % keys),
                          inside ? static_cast<float>(a.kv.key(b, key_head, k0 + row)[h]) : 0.f);
        }
        P::sync_block();
        for (int h = h0; h < H && h < h0 + keys; ++h) {
          const float k = P::template load_shared<float>(memory.key(lane, h - h0));
          ASHLAR_DEVICE_UNROLL
          for (int r = 0; r < rows_per_warp; ++r)
            s[r] = std::fma(
                P::template load_shared<float>(memory.query(warp * rows_per_warp + r, h)), k, s[r]);
        }
      }
      std::uint32_t visible[rows_per_warp];
      float weight[rows_per_warp], decay[rows_per_warp];
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < rows_per_warp; ++r) {
        const index_t position = extent.q_offset + t0 + r, key = k0 + lane;
        const bool seen = t0 + r < extent.queries && key < k1 &&
                          (kind == TileKind::full || a.sees(b, head, position, key));
        float x = -HUGE_VALF;
        if constexpr (Problem::has_score) {
          if (seen) x = a.score(s[r] * a.scale, b, head, position, key);
        } else {
          if (seen) x = s[r] * factor;
        }
        visible[r] = P::ballot(seen);
        weight[r] = add_keys<P>(state[r], x, seen, decay[r]);
      }
      add_values<P>(a, memory, b, key_head, k0, static_cast<int>(k1 - k0), warp, lane, visible,
                    weight, decay);
    }
    ASHLAR_DEVICE_UNROLL
    for (int r = 0; r < rows_per_warp; ++r) {
      const index_t t = t0 + r;
      if (t >= a.stored_rows(b)) continue;
      const float sink_scale = t < extent.queries ? join_sink(a, head, state[r]) : 1.f;
      for (int d = lane; d < Hv; d += 32) {
        const float o =
            sink_scale * P::template load_shared<float>(memory.output(warp * rows_per_warp + r, d));
        a.output(b, head, t)[d] = static_cast<T>(state[r].l != 0.f ? o / state[r].l : 0.f);
      }
      if (lane == 0) a.store_lse(b, head, t, natural_lse<P>(state[r]));
    }
  }

 private:
  /// Addresses in shared memory.
  struct Shared {
    std::uint32_t base;
    int H, Hv;

    ASHLAR_DEVICE std::uint32_t query(int row, int h) const { return at(row * H + h); }
    ASHLAR_DEVICE std::uint32_t output(int row, int d) const {
      return at(queries * H + row * Hv + d);
    }
    ASHLAR_DEVICE std::uint32_t key(int row, int column) const {
      return at(queries * (H + Hv) + row * (keys + 1) + column);
    }
    ASHLAR_DEVICE std::uint32_t at(int element) const {
      return base + static_cast<std::uint32_t>(element) * 4;
    }
  };
  static ASHLAR_DEVICE float load(const T* x) { return static_cast<float>(*x); }

  /// Adds a tile's scores, one a lane, in log2 units. Returns the lane's weight.
  template <class P>
  static ASHLAR_DEVICE float add_keys(SoftmaxState<float>& state, float x, bool seen,
                                      float& decay) {
    float m = P::maximum(state.m, x);
    for (int i = 16; i > 0; i /= 2) m = P::maximum(m, P::shuffle_xor(m, i));
    const float base = softmax_base(m), weight = seen ? math::exp2_nonpositive(x - base) : 0.f;
    decay = math::exp2_nonpositive(state.m - base);
    float sum = weight;
    for (int i = 16; i > 0; i /= 2) sum += P::shuffle_xor(sum, i);
    state.l = std::fma(decay, state.l, sum);
    state.m = m;
    return weight;
  }
  template <class P>
  static ASHLAR_DEVICE void add_values(const Problem& a, const Shared& memory, index_t b,
                                       index_t key_head, index_t k0, int count, int warp, int lane,
                                       const std::uint32_t (&visible)[rows_per_warp],
                                       const float (&weight)[rows_per_warp],
                                       const float (&decay)[rows_per_warp]) {
    for (int d0 = 0; d0 < memory.Hv; d0 += 32) {  // all lanes, for the shuffles
      const int d = d0 + lane;
      const bool exists = d < memory.Hv;
      float o[rows_per_warp];
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < rows_per_warp; ++r)
        o[r] = exists
                   ? decay[r] *
                         P::template load_shared<float>(memory.output(warp * rows_per_warp + r, d))
                   : 0.f;
      for (int j = 0; j < count; ++j) {
        const float v = exists ? static_cast<float>(a.kv.value(b, key_head, k0 + j)[d]) : 0.f;
        ASHLAR_DEVICE_UNROLL
        for (int r = 0; r < rows_per_warp; ++r) {
          const float p = P::shuffle(weight[r], j);
          if (visible[r] >> j & 1u) o[r] = std::fma(p, v, o[r]);
        }
      }
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < rows_per_warp; ++r)
        if (exists) P::store_shared(memory.output(warp * rows_per_warp + r, d), o[r]);
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
