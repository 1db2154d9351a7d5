// Attention of a few new queries on tensor cores, split over keys; attention_combine.hpp merges the
// splits. For sm_80 and newer.
//
// Source: Dao et al. 2023, Flash-Decoding; the heads that share keys and values are the rows of one
// product, as in FlashAttention-3's packed heads.
#pragma once

#include <ashlar/cuda/decode_merge.hpp>
#include <ashlar/cuda/decode_rows.hpp>
#include <ashlar/cuda/decode_stage_q8.hpp>

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
  using Stage = DecodeStage<typename Problem::Source::element_type, T, keys, Dk, Dv>;
  // Two blocks of a multiprocessor share its memory.
  static constexpr int fitting_stages = ((68 << 10) - static_cast<int>(warps * Stage::tile_bytes)) /
                                        static_cast<int>(warps * Stage::bytes);
  static constexpr int stages = fitting_stages < 4 ? fitting_stages : 4;
  static_assert(stages >= 2);
  static constexpr int blocks_per_multiprocessor = 2;

  static constexpr std::uint32_t ring_bytes = stages * Stage::bytes;
  static constexpr std::uint32_t tiles_bytes = warps * Stage::tile_bytes;
  static constexpr std::uint32_t copies_bytes = tiles_bytes + warps * ring_bytes;
  // At the end the copies make room for every warp's rows and their states.
  using Merge = DecodeMerge<warps, rows, Dv>;
  static constexpr std::uint32_t work_bytes =
      copies_bytes > Merge::bytes ? copies_bytes : Merge::bytes;
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
    const Packed packed{key_head * group, group, P::block_y() / p.kv.heads() * rows,
                        extent.queries};
    const index_t begin = P::block_x() * a.results.split_keys;
    const index_t end = min_index(begin + a.results.split_keys, extent.keys);
    if (begin >= extent.keys || packed.count() <= 0) return;  // merged by nobody

    const std::uint32_t row_tile = P::shared_base(), work = row_tile + RowTile::bytes;
    const std::uint32_t own_tile = work + static_cast<std::uint32_t>(warp) * Stage::tile_bytes;
    const std::uint32_t ring = work + tiles_bytes + static_cast<std::uint32_t>(warp) * ring_bytes;
    copy_tile<P, RowTile, threads>(row_tile, thread, packed.count(), p.q.extent(3), [&](int r) {
      return p.query(b, packed.head(r), packed.query(r));
    });
    P::commit_copies();
    P::template wait_copies<0>();
    if (!Problem::has_score && p.scale < 0.f) negate_copied<P, RowTile, threads>(row_tile, thread);
    P::sync_block();

    const Steps steps{p.options.mask, packed, b, begin + warp * keys, end, extent.q_offset, lane};
    const auto copy_step = [&](int step, std::uint32_t stage) {
      if (step < steps.count()) {
        const index_t k0 = steps.first_key(step);
        Stage::template begin<P>(ring + stage * Stage::bytes, p.kv, b, key_head, k0, end - k0,
                                 lane);
      }
      P::commit_copies();
    };

    const MatrixRow left = left_operand(lane), right = right_operand(lane);
    const std::uint32_t q_lane = row_tile + RowTile::offset(left.row, left.chunk);
    const std::uint32_t k_lane = KeyTile::offset(right.row, right.chunk);
    const std::uint32_t v_lane = ValueTile::offset(left.row, left.chunk);
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
      const std::uint32_t copied = ring + stage * Stage::bytes;
      multiply_queries<P, T, RowTile, KeyTile>(
          s, q_lane, Stage::template keys<P>(copied, own_tile, lane) + k_lane);
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
      multiply_values<P, T, ValueTile>(o, weights,
                                       Stage::template values<P>(copied, own_tile, lane) + v_lane);
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    P::template wait_copies<0>();
    P::sync_block();  // the copies are read to the end
    const Merge merge{work};
    merge.template leave<P>(o[0], state, factor, warp, lane);
    P::sync_block();
    merge.template write<P>(a, packed, b, thread);
  }

 private:
  using Packed = PackedRows<rows>;
  using Steps = DecodeSteps<typename Problem::Mask, Packed, warps, keys>;
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
