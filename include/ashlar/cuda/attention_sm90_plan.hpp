// How the attention kernel of sm_90a divides work, registers and shared memory.
#pragma once

#include <ashlar/cuda/attention_tiles.hpp>
#include <ashlar/cuda/shared_tile.hpp>
#include <ashlar/cuda/sm90_pipeline.hpp>
#include <ashlar/cuda/tensor_map.hpp>
#include <ashlar/cuda/tile_order.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Tiles and warpgroups for some widths. Each of the `consumers` has 64 queries. With `overlap` a
/// tile's softmax runs beside the product of the weights before it with V, and two consumers take
/// turns at products; without, only the warpgroups hide each other's softmax.
template <int Dk, int Dv, bool has_score>
struct Sm90Shape {
  static constexpr bool narrow = Dk <= 64 && Dv <= 64, widest = Dk > 192 || Dv > 192;
  static constexpr bool wide = Dk > 128 && Dv > 128;
  // As much as registers hold without spilling; scores need some of their own.
  static constexpr int consumers = narrow && !has_score ? 3 : 2;
  static constexpr int keys = widest ? 80 : wide || (has_score && !narrow) ? 96 : 128;
  static constexpr bool overlap = !widest && !(wide && has_score);
};

/// What follows from a shape.
template <class Problem_, int Dk, int Dv, class Shape>
struct Sm90Plan {
  using Problem = Problem_;
  static constexpr int key_columns = Dk, value_columns = Dv;
  static constexpr int consumers = Shape::consumers, queries = 64 * consumers, keys = Shape::keys;
  static_assert(consumers == 2 || consumers == 3);
  static constexpr int stages = 2;
  static constexpr bool overlap = Shape::overlap, takes_turns = overlap && consumers == 2;
  // Of 64 Ki registers; those of the copying warps must do for the mask's classify().
  static constexpr int producer_registers = consumers == 3 ? 32 : 40;
  static constexpr int consumer_registers = consumers == 3 ? 160 : 232;

  // Shared memory: a tile of queries, rings of tiles of keys and of values, their barriers.
  using QueryTile = SharedTile<queries, Dk>;
  using KeyTile = SharedTile<keys, Dk>;
  using ValueTile = SharedTile<keys, Dv>;
  using QueryRing = Ring<1>;
  using TileRing = Ring<stages>;
  static constexpr std::uint32_t k_offset = QueryTile::bytes;
  static constexpr std::uint32_t v_offset = k_offset + stages * KeyTile::bytes;
  static constexpr std::uint32_t barriers = v_offset + stages * ValueTile::bytes;
  static constexpr std::uint32_t shared_size = barriers + QueryRing::bytes + 2 * TileRing::bytes;
  static_assert(KeyTile::bytes % 1024 == 0 && ValueTile::bytes % 1024 == 0);

  /// Addresses of tiles and barriers.
  struct Memory {
    std::uint32_t base;

    ASHLAR_DEVICE QueryRing q() const { return {base + barriers}; }
    ASHLAR_DEVICE TileRing k() const { return {base + barriers + QueryRing::bytes}; }
    ASHLAR_DEVICE TileRing v() const { return {k().base + TileRing::bytes}; }
    ASHLAR_DEVICE std::uint32_t k_tile(std::uint32_t stage) const {
      return base + k_offset + stage * KeyTile::bytes;
    }
    ASHLAR_DEVICE std::uint32_t v_tile(std::uint32_t stage) const {
      return base + v_offset + stage * ValueTile::bytes;
    }
  };

  /// What the kernel is given.
  struct Mapped {
    TensorMap q, k, v;
    Problem problem;
    TileOrder order;
  };

  /// A tile of queries: whose, which, and what it sees.
  struct Work {
    int b, head, q0, query_count, key_count;
    index_t q_offset;

    ASHLAR_DEVICE Work(const Mapped& a, int item) {
      const auto tile = a.order.at(item);
      const int heads = static_cast<int>(a.problem.heads());
      b = tile.head / heads;
      head = tile.head % heads;
      q0 = tile.index * queries;
      const auto extent = a.problem.extent(b);
      q_offset = extent.q_offset;
      query_count = static_cast<int>(extent.queries);
      key_count = static_cast<int>(extent.keys);
    }
    /// What queries t0 .. t0 + most - 1 see of a tile of keys; nothing where there are none.
    ASHLAR_DEVICE TileKind kind(const Problem& p, int tile, int t0, int most) const {
      const int rows = query_count - t0 < most ? query_count - t0 : most;
      if (rows <= 0) return TileKind::skip;
      return VisibleTiles<Problem, keys>{p, b, head, q_offset + t0, rows, key_count}.kind(tile);
    }
    /// The last tile before one that any of the queries sees, -1 for none.
    ASHLAR_DEVICE int visible_before(const Problem& p, int tile) const {
      do --tile;
      while (tile >= 0 && kind(p, tile, q0, queries) == TileKind::skip);
      return tile;
    }
    /// The tile that comes first, -1 for none.
    ASHLAR_DEVICE int first(const Problem& p) const {
      return query_count > q0 ? visible_before(p, (key_count + keys - 1) / keys) : -1;
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
