// Attention on tensor cores, one block of threads a tile of queries: cp.async, ldmatrix, mma.sync.
// For sm_80 and newer.
//
// Source: Dao 2023, FlashAttention-2, of which it has the loop; the masks and scores are functors.
#pragma once

#include <ashlar/cuda/attention_tiles.hpp>
#include <ashlar/cuda/tile_math.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// The head widths that tensor-core kernels are made for; narrower heads are padded with zeros.
ASHLAR_HD constexpr int padded_width(index_t width) {
  return static_cast<int>(round_up(width, 64));
}
inline constexpr index_t widest_tensor_core_head = 256;

/// softmax(mask(score(scale q k^T))) v for 16-bit T and heads of up to Dk and Dv elements, both
/// multiples of 64. Each of four warps has 16 or 32 query rows; keys come in tiles, last one first,
/// K a tile ahead of its use and V while the scores are formed. Tiles that the mask hides from the
/// whole block are not read, those that it shows whole are not asked about.
template <class Problem, int Dk, int Dv>
struct AttentionForward {
  static_assert(Dk % 64 == 0 && Dv % 64 == 0 && Dk <= 256 && Dv <= 256);
  static_assert(sizeof(typename Problem::T) == 2);
  using Arguments = Problem;
  using T = typename Problem::T;

  static constexpr int needs_architecture = 80;
  static constexpr bool narrow = Dk <= 64 && Dv <= 64, wide = Dk > 128 || Dv > 128;
  static constexpr int warps = 4, threads = 32 * warps, blocks_per_multiprocessor = wide ? 1 : 2;
  // Scores need registers of their own: smaller tiles then, where the others fill all of them.
  static constexpr bool scored = Problem::has_score, widest = Dk > 192 || Dv > 192;
  static constexpr int M = narrow && !scored ? 2 : 1;  // blocks of 16 queries a warp
  static constexpr int queries = 16 * warps * M;
  static constexpr int keys = !wide ? 64 : widest && scored ? 16 : 32;
  using QueryTile = SharedTile<queries, Dk>;
  using KeyTile = SharedTile<keys, Dk>;
  using ValueTile = SharedTile<keys, Dv>;

  static constexpr std::uint32_t shared_size =
      QueryTile::bytes + 2 * (KeyTile::bytes + ValueTile::bytes);
  static std::size_t shared_bytes(const Arguments&) { return shared_size; }
  static Grid grid(const Arguments& a) {
    return {ceil_div(a.most_queries, queries), a.heads(), a.q.extent(0)};
  }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const int thread = P::thread(), lane = thread % 32, warp = thread / 32;
    const index_t b = P::block_z(), head = P::block_y(), key_head = a.key_head(head);
    // The last rows, which see most under a causal mask, begin first.
    const int q0 = static_cast<int>(ceil_div(a.most_queries, queries) - 1 - P::block_x()) * queries;
    if (q0 >= a.stored_rows(b)) return;
    const auto extent = a.extent(b);
    const int query_count = static_cast<int>(extent.queries);
    const int key_count = static_cast<int>(extent.keys);
    const int rows = query_count - q0 < queries ? query_count - q0 : queries;  // may be none
    const VisibleTiles<Problem, keys> tiles{a, b, head, extent.q_offset + q0, rows, key_count};

    const std::uint32_t q_tile = P::shared_base(), k_tiles = q_tile + QueryTile::bytes;
    const std::uint32_t v_tiles = k_tiles + 2 * KeyTile::bytes;
    const auto copy_keys = [&](int tile, int stage) {
      const int k0 = tile * keys;
      copy_tile<P, KeyTile, threads>(k_tiles + static_cast<std::uint32_t>(stage) * KeyTile::bytes,
                                     thread, key_count - k0, a.kv.key_width(),
                                     [&](int r) { return a.kv.key(b, key_head, k0 + r); });
    };
    const auto copy_values = [&](int tile, int stage) {
      const int k0 = tile * keys;
      copy_tile<P, ValueTile, threads>(
          v_tiles + static_cast<std::uint32_t>(stage) * ValueTile::bytes, thread, key_count - k0,
          a.kv.value_width(), [&](int r) { return a.kv.value(b, key_head, k0 + r); });
    };

    int tile = rows > 0 ? tiles.visible_before((key_count + keys - 1) / keys) : -1;
    if (tile >= 0) {
      copy_tile<P, QueryTile, threads>(q_tile, thread, rows, a.q.extent(3),
                                       [&](int r) { return a.query(b, head, q0 + r); });
      copy_keys(tile, 0);
    }
    P::commit_copies();
    if (tile >= 0 && !Problem::has_score && a.scale < 0.f) {
      P::template wait_copies<0>();
      negate_copied<P, QueryTile, threads>(q_tile, thread);
    }

    const MatrixRow left = left_operand(lane), right = right_operand(lane);
    const std::uint32_t q_lane = q_tile + QueryTile::offset(warp * 16 * M + left.row, left.chunk);
    const std::uint32_t k_lane = k_tiles + KeyTile::offset(right.row, right.chunk);
    const std::uint32_t v_lane = v_tiles + ValueTile::offset(left.row, left.chunk);
    const float factor = a.score_factor();
    float o[M][Dv / 8][4] = {};
    SoftmaxRows state[M];

    for (std::uint32_t stage = 0; tile >= 0; stage ^= 1) {
      copy_values(tile, static_cast<int>(stage));
      P::commit_copies();
      P::template wait_copies<1>();
      P::sync_block();  // this tile's keys are there, and nobody reads those before any more
      const int next = tiles.visible_before(tile);
      if (next >= 0) copy_keys(next, static_cast<int>(stage ^ 1));
      P::commit_copies();

      float s[M][keys / 8][4];
      multiply_queries<P, T, QueryTile, KeyTile>(s, q_lane, k_lane + stage * KeyTile::bytes);
      const int k0 = tile * keys;
      const TileKind kind = tiles.kind(tile);
      if (Problem::has_score || kind != TileKind::full || k0 + keys > key_count) {
        ASHLAR_DEVICE_UNROLL
        for (int m = 0; m < M; ++m)
          finish_scores(a, s[m], b, kind, k0, key_count, extent.q_offset, lane,
                        [&](int row, int& of_head, int& t) {
                          of_head = P::block_y();
                          t = q0 + (warp * M + m) * 16 + row;
                          return t < query_count;
                        });
      }
      std::uint32_t weights[M][keys / 16][4];
      ASHLAR_DEVICE_UNROLL
      for (int m = 0; m < M; ++m) {
        float decay[2];
        weigh_scores<P>(state[m], s[m], factor, decay);
        pack_weights<P, T>(s[m], weights[m]);
        scale_rows(o[m], decay);
      }
      P::template wait_copies<1>();
      P::sync_block();  // this tile's values are there
      multiply_values<P, T, ValueTile>(o, weights, v_lane + stage * ValueTile::bytes);
      tile = next;
    }
    P::template wait_copies<0>();
    ASHLAR_DEVICE_UNROLL
    for (int m = 0; m < M; ++m)
      store_rows<P>(a, o[m], state[m], factor, b, head, q0 + (warp * M + m) * 16, lane,
                    query_count);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
