// Attention of a few new queries on tensor cores, split over keys; attention_combine.hpp merges the
// splits. For sm_80 and newer.
//
// Source: Dao et al. 2023, Flash-Decoding; the heads that share keys and values are the rows of one
// product, as in FlashAttention-3's packed heads.
#pragma once

#include <ashlar/cuda/attention_splits.hpp>
#include <ashlar/cuda/softmax_rows.hpp>
#include <ashlar/cuda/tile_math.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// One block: 16 rows, the queries of one key head (row r is query r / G of head r mod G of its G
/// heads), against the keys of one split. Every warp streams keys of its own, 16 at a time, through
/// a ring of copies, so that no warp waits for another before the end.
template <class Problem_, int Dk, int Dv>
struct AttentionDecode {
  static_assert(Dk % 64 == 0 && Dv % 64 == 0 && Dk <= 256 && Dv <= 256);
  using Problem = Problem_;
  using Arguments = DecodeArguments<Problem>;
  using T = typename Problem::T;
  static_assert(sizeof(T) == 2);

  static constexpr int needs_architecture = 80;
  static constexpr int warps = Dk + Dv <= 256 ? 4 : 2, threads = 32 * warps;
  static constexpr int rows = 16, keys = 16;  // keys of a warp's step
  using RowTile = SharedTile<rows, Dk>;
  using KeyTile = SharedTile<keys, Dk>;
  using ValueTile = SharedTile<keys, Dv>;
  static constexpr std::uint32_t stage_bytes = KeyTile::bytes + ValueTile::bytes;
  static constexpr int fitting_stages = (64 << 10) / static_cast<int>(warps * stage_bytes);
  static constexpr int stages = fitting_stages < 4 ? fitting_stages : 4;
  static_assert(stages >= 2);
  static constexpr int blocks_per_multiprocessor = 2;

  static constexpr std::uint32_t ring_bytes = stages * stage_bytes;
  // At the end the rings make room for every warp's rows and their states.
  static constexpr std::uint32_t row_bytes = Dv * 4, merge_bytes = warps * rows * (row_bytes + 8);
  static constexpr std::uint32_t work_bytes =
      warps * ring_bytes > merge_bytes ? warps* ring_bytes : merge_bytes;
  static constexpr std::uint32_t shared_size = RowTile::bytes + work_bytes;
  static std::size_t shared_bytes(const Arguments&) { return shared_size; }
  static Grid grid(const Arguments& a) {
    const Problem& p = a.problem;
    const index_t packed = p.most_queries * (p.heads() / p.kv.heads());
    return {a.results.splits, p.kv.heads() * ceil_div(packed, rows), p.q.extent(0)};
  }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const Problem& p = a.problem;
    const int thread = P::thread(), lane = thread % 32, warp = thread / 32;
    const index_t b = P::block_z(), group = p.heads() / p.kv.heads();
    const auto extent = p.extent(b);
    const index_t key_head = P::block_y() % p.kv.heads();
    const Rows packed{key_head * group, group, P::block_y() / p.kv.heads() * rows, extent.queries};
    const index_t begin = P::block_x() * a.results.split_keys;
    const index_t end = min_index(begin + a.results.split_keys, extent.keys);
    if (begin >= extent.keys || packed.count() <= 0) return;  // merged by nobody

    const std::uint32_t row_tile = P::shared_base(), work = row_tile + RowTile::bytes;
    const std::uint32_t ring = work + static_cast<std::uint32_t>(warp) * ring_bytes;
    copy_tile<P, RowTile, threads>(row_tile, thread, packed.count(), p.q.extent(3), [&](int r) {
      return p.query(b, packed.head(r), packed.query(r));
    });
    P::commit_copies();
    P::template wait_copies<0>();
    if (!Problem::has_score && p.scale < 0.f) negate_copied<P, RowTile, threads>(row_tile, thread);
    P::sync_block();

    const Steps steps{p, packed, b, begin + warp * keys, end, extent.q_offset, lane};
    const auto copy_step = [&](int step, std::uint32_t stage) {
      if (step < steps.count()) {
        const index_t k0 = steps.first_key(step);
        const std::uint32_t k_tile = ring + stage * stage_bytes;
        copy_tile<P, KeyTile, 32>(k_tile, lane, end - k0, p.kv.key_width(),
                                  [&](int r) { return p.kv.key(b, key_head, k0 + r); });
        copy_tile<P, ValueTile, 32>(k_tile + KeyTile::bytes, lane, end - k0, p.kv.value_width(),
                                    [&](int r) { return p.kv.value(b, key_head, k0 + r); });
      }
      P::commit_copies();
    };

    const MatrixRow left = left_operand(lane), right = right_operand(lane);
    const std::uint32_t q_lane = row_tile + RowTile::offset(left.row, left.chunk);
    const std::uint32_t k_lane = ring + KeyTile::offset(right.row, right.chunk);
    const std::uint32_t v_lane = ring + KeyTile::bytes + ValueTile::offset(left.row, left.chunk);
    const float factor = p.score_factor();
    float o[1][Dv / 8][4] = {};
    SoftmaxRows state;

    int ahead = steps.template visible_from<P>(0);  // the next step to copy
    std::uint32_t stage = 0, free_stage = 0;
    for (int i = 0; i < stages - 1; ++i) {
      copy_step(ahead, free_stage++);
      ahead = steps.template visible_from<P>(ahead + 1);
    }
    for (int step = steps.template visible_from<P>(0); step < steps.count();
         step = steps.template visible_from<P>(step + 1)) {
      P::template wait_copies<stages - 2>();
      P::sync_warp();  // this step's copies are there, and no lane reads those before any more
      copy_step(ahead, free_stage);
      ahead = steps.template visible_from<P>(ahead + 1);
      free_stage = free_stage + 1 == stages ? 0 : free_stage + 1;

      float s[1][keys / 8][4];
      multiply_queries<P, T, RowTile, KeyTile>(s, q_lane, k_lane + stage * stage_bytes);
      const index_t k0 = steps.first_key(step);
      const TileKind kind = steps.template kind<P>(step);
      if (Problem::has_score || kind != TileKind::full || k0 + keys > end)
        finish_scores(p, s[0], b, kind, static_cast<int>(k0), static_cast<int>(end),
                      extent.q_offset, lane, [&](int row, int& head, int& t) {
                        head = static_cast<int>(packed.head(row));
                        t = static_cast<int>(packed.query(row));
                        return row < packed.count();
                      });
      std::uint32_t weights[1][keys / 16][4];
      float decay[2];
      weigh_scores<P>(state, s[0], factor, decay);
      pack_weights<P, T>(s[0], weights[0]);
      scale_rows(o[0], decay);
      multiply_values<P, T, ValueTile>(o, weights, v_lane + stage * stage_bytes);
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    P::template wait_copies<0>();
    P::sync_block();  // the rings are read to the end
    leave<P>(o[0], state, factor, work, warp, lane);
    P::sync_block();
    merge_warps<P>(a, packed, b, work, thread);
  }

 private:
  /// The block's rows: query t of head h is row t G + (h - first_head).
  struct Rows {
    index_t first_head, group, first, queries;

    ASHLAR_DEVICE index_t count() const { return min_index(queries * group - first, rows); }
    ASHLAR_DEVICE index_t head(int row) const { return first_head + (first + row) % group; }
    ASHLAR_DEVICE index_t query(int row) const { return (first + row) / group; }
  };

  /// A warp's steps through its keys of the split.
  struct Steps {
    const Problem& problem;
    const Rows& packed;
    index_t b, begin, end, q_offset;
    int lane;

    ASHLAR_DEVICE index_t first_key(int step) const { return begin + index_t{step} * warps * keys; }
    ASHLAR_DEVICE int count() const {
      return begin < end ? static_cast<int>(ceil_div(end - begin, warps * keys)) : 0;
    }
    /// What the mask says of all rows: each lane asks for one.
    template <class P>
    ASHLAR_DEVICE TileKind kind(int step) const {
      const index_t k0 = first_key(step), k1 = min_index(k0 + keys, end);
      const int row = lane % rows;
      const bool exists = row < packed.count();
      TileKind own = TileKind::skip;
      if (exists) {
        const index_t position = q_offset + packed.query(row);
        own = problem.options.mask.classify(b, packed.head(row), position, position + 1, k0, k1);
      }
      if (P::ballot(own != TileKind::skip) == 0) return TileKind::skip;
      return P::ballot(exists && own != TileKind::full) == 0 ? TileKind::full : TileKind::partial;
    }
    template <class P>
    ASHLAR_DEVICE int visible_from(int step) const {
      while (step < count() && kind<P>(step) == TileKind::skip) ++step;
      return step;
    }
  };

  /// Puts a warp's 16 rows where others can read them.
  template <class P>
  static ASHLAR_DEVICE void leave(const float (&o)[Dv / 8][4], const SoftmaxRows& state,
                                  float factor, std::uint32_t work, int warp, int lane) {
    ASHLAR_DEVICE_UNROLL
    for (int r = 0; r < 2; ++r) {
      const SoftmaxState<float> row = whole_row<P>(state, r, factor);
      const auto n = static_cast<std::uint32_t>(warp * rows + accumulator_row(lane, 2 * r));
      if (lane % 4 == 0) P::store_shared(state_address(work, n), row);
      ASHLAR_DEVICE_UNROLL
      for (int j = 0; j < Dv / 8; ++j) {
        ASHLAR_DEVICE_UNROLL
        for (int i = 2 * r; i < 2 * r + 2; ++i)
          P::store_shared(out_address(work, n, 8 * j + accumulator_column(lane, i)), o[j][i]);
      }
    }
  }
  /// Merges the warps' rows, first warp first, and writes the split's result.
  template <class P>
  static ASHLAR_DEVICE void merge_warps(const Arguments& a, const Rows& packed, index_t b,
                                        std::uint32_t work, int thread) {
    const int width = static_cast<int>(a.problem.kv.value_width());
    for (int i = thread; i < rows * Dv; i += threads) {
      const int row = i / Dv, column = i % Dv;
      if (row >= packed.count() || column >= width) continue;
      auto n = static_cast<std::uint32_t>(row);
      auto state = P::template load_shared<SoftmaxState<float>>(state_address(work, n));
      float o = P::template load_shared<float>(out_address(work, n, column));
      for (int w = 1; w < warps; ++w) {
        n += rows;
        const auto scales =
            merge(state, P::template load_shared<SoftmaxState<float>>(state_address(work, n)));
        o = std::fma(scales.first, o,
                     scales.second * P::template load_shared<float>(out_address(work, n, column)));
      }
      const index_t at = a.result(b, packed.head(row), packed.query(row), P::block_x());
      a.results.out[at * width + column] = o;
      if (column == 0) a.results.state[at] = state;
    }
  }
  static ASHLAR_DEVICE std::uint32_t out_address(std::uint32_t work, std::uint32_t n, int column) {
    return work + n * row_bytes + static_cast<std::uint32_t>(column) * 4;
  }
  static ASHLAR_DEVICE std::uint32_t state_address(std::uint32_t work, std::uint32_t n) {
    return work + warps * rows * row_bytes + n * 8;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
