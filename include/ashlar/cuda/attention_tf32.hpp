// Attention of f32 on tensor cores, by tf32: for callers who ask for it. For sm_80 and newer.
#pragma once

#include <ashlar/cuda/attention_tiles.hpp>
#include <ashlar/cuda/tile_math.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Rows x Columns floats, four more a row: the eight rows and four columns that the lanes of a warp
/// read at once, of every row or of every second one, then lie in different banks.
template <int Rows, int Columns>
struct PaddedTile {
  static_assert(Columns % 32 == 0);
  static constexpr int rows = Rows, columns = Columns;
  static constexpr std::uint32_t row_bytes = (Columns + 4) * 4, bytes = Rows * row_bytes;

  ASHLAR_HD static constexpr std::uint32_t offset(int row, int column) {
    return static_cast<std::uint32_t>(row) * row_bytes + static_cast<std::uint32_t>(column) * 4;
  }
};

/// softmax(mask(score(scale q k^T))) v for float and heads of up to Dk and Dv elements, products of
/// factors that are rounded to 11 significant bits (tf32). The loop is AttentionForward's, with 16
/// queries a warp and fragments of m16n8k8 that are read element by element.
template <class Problem, int Dk, int Dv>
struct AttentionTf32 {
  static_assert(std::is_same_v<typename Problem::T, float>);
  using Arguments = Problem;

  static constexpr int needs_architecture = 80;
  static constexpr bool wide = Dk > 64 || Dv > 64;
  static constexpr int warps = 4, threads = 32 * warps, blocks_per_multiprocessor = wide ? 1 : 2;
  static constexpr int queries = 16 * warps, keys = wide ? 16 : 32;
  using QueryTile = PaddedTile<queries, Dk>;
  using KeyTile = PaddedTile<keys, Dk>;
  using ValueTile = PaddedTile<keys, Dv>;

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
    const int q0 = static_cast<int>(ceil_div(a.most_queries, queries) - 1 - P::block_x()) * queries;
    if (q0 >= a.stored_rows(b)) return;
    const auto extent = a.extent(b);
    const int query_count = static_cast<int>(extent.queries);
    const int key_count = static_cast<int>(extent.keys);
    const int rows = query_count - q0 < queries ? query_count - q0 : queries;  // may be none
    const VisibleTiles<Problem, keys> tiles{a, b, head, extent.q_offset + q0, rows, key_count};

    const std::uint32_t q_tile = P::shared_base(), k_tiles = q_tile + QueryTile::bytes;
    const std::uint32_t v_tiles = k_tiles + 2 * KeyTile::bytes;
    const auto copy_keys = [&](int tile, std::uint32_t stage) {
      const int k0 = tile * keys;
      copy_rows<P, KeyTile>(k_tiles + stage * KeyTile::bytes, thread, key_count - k0,
                            a.kv.key_width(), [&](int r) { return a.kv.key(b, key_head, k0 + r); });
    };
    const auto copy_values = [&](int tile, std::uint32_t stage) {
      const int k0 = tile * keys;
      copy_rows<P, ValueTile>(v_tiles + stage * ValueTile::bytes, thread, key_count - k0,
                              a.kv.value_width(),
                              [&](int r) { return a.kv.value(b, key_head, k0 + r); });
    };

    int tile = rows > 0 ? tiles.visible_before((key_count + keys - 1) / keys) : -1;
    if (tile >= 0) {
      copy_rows<P, QueryTile>(q_tile, thread, rows, a.q.extent(3),
                              [&](int r) { return a.query(b, head, q0 + r); });
      copy_keys(tile, 0);
    }
    P::commit_copies();

    const float factor = a.score_factor();
    const float sign = !Problem::has_score && a.scale < 0.f ? -1.f : 1.f;
    float o[Dv / 8][4] = {};
    SoftmaxRows state;
    for (std::uint32_t stage = 0; tile >= 0; stage ^= 1) {
      copy_values(tile, stage);
      P::commit_copies();
      P::template wait_copies<1>();
      P::sync_block();  // this tile's keys are there, and nobody reads those before any more
      const int next = tiles.visible_before(tile);
      if (next >= 0) copy_keys(next, stage ^ 1);
      P::commit_copies();

      float s[keys / 8][4] = {};
      multiply_queries<P>(s, q_tile + QueryTile::offset(warp * 16, 0),
                          k_tiles + stage * KeyTile::bytes, lane, sign);
      const int k0 = tile * keys;
      const TileKind kind = tiles.kind(tile);
      if (Problem::has_score || kind != TileKind::full || k0 + keys > key_count)
        finish_scores(a, s, b, kind, k0, key_count, extent.q_offset, lane,
                      [&](int row, int& of_head, int& t) {
                        of_head = P::block_y();
                        t = q0 + warp * 16 + row;
                        return t < query_count;
                      });
      float decay[2];
      weigh_scores<P>(state, s, factor, decay);
      scale_rows(o, decay);
      P::template wait_copies<1>();
      P::sync_block();  // this tile's values are there
      multiply_values<P>(o, s, v_tiles + stage * ValueTile::bytes, lane);
      tile = next;
    }
    P::template wait_copies<0>();
    store_rows<P>(a, o, state, factor, b, head, q0 + warp * 16, lane, query_count);
  }

 private:
  /// As copy_tile: zeros past the rows and their width, a multiple of 4, which are not read.
  template <class P, class Tile, class RowOf>
  static ASHLAR_DEVICE void copy_rows(std::uint32_t tile, int thread, index_t rows, index_t width,
                                      RowOf row_of) {
    constexpr int chunks = Tile::columns / 4;
    const int count = static_cast<int>(min_index(rows, Tile::rows));
    for (int i = thread; i < Tile::rows * chunks; i += threads) {
      const int row = i / chunks, column = i % chunks * 4;
      const bool inside = row < count && column < width;
      P::copy_async(tile + Tile::offset(row, column),
                    row_of(row < count ? row : 0) + (inside ? column : 0), inside);
    }
  }
  template <class P>
  static ASHLAR_DEVICE std::uint32_t element(std::uint32_t address) {
    return P::round_tf32(P::template load_shared<float>(address));
  }

  /// s += sign q k^T.
  template <class P, int Blocks>
  static ASHLAR_DEVICE void multiply_queries(float (&s)[Blocks][4], std::uint32_t q,
                                             std::uint32_t k, int lane, float sign) {
    const std::uint32_t left = q + QueryTile::offset(lane / 4, lane % 4);
    const std::uint32_t right = k + KeyTile::offset(lane / 4, lane % 4);
    ASHLAR_DEVICE_UNROLL
    for (int d = 0; d < Dk; d += 8) {
      std::uint32_t x[4];
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < 4; ++i)
        x[i] = P::round_tf32(sign * P::template load_shared<float>(
                                        left + QueryTile::offset(i % 2 * 8, d + i / 2 * 4)));
      ASHLAR_DEVICE_UNROLL
      for (int j = 0; j < Blocks; ++j)
        P::multiply_add_tf32(s[j], x, element<P>(right + KeyTile::offset(8 * j, d)),
                             element<P>(right + KeyTile::offset(8 * j, d + 4)));
    }
  }
  /// o += p v. A thread holds the weights of keys 2 i and 2 i + 1 where an operand has those of i
  /// and i + 4: keys are summed in the order of the weights, and values follow it.
  template <class P, int Steps, int Blocks>
  static ASHLAR_DEVICE void multiply_values(float (&o)[Blocks][4], const float (&p)[Steps][4],
                                            std::uint32_t v, int lane) {
    const std::uint32_t right = v + ValueTile::offset(2 * (lane % 4), lane / 4);
    ASHLAR_DEVICE_UNROLL
    for (int step = 0; step < Steps; ++step) {
      const std::uint32_t x[4] = {P::round_tf32(p[step][0]), P::round_tf32(p[step][2]),
                                  P::round_tf32(p[step][1]), P::round_tf32(p[step][3])};
      ASHLAR_DEVICE_UNROLL
      for (int j = 0; j < Blocks; ++j)
        P::multiply_add_tf32(o[j], x, element<P>(right + ValueTile::offset(8 * step, 8 * j)),
                             element<P>(right + ValueTile::offset(8 * step + 1, 8 * j)));
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
