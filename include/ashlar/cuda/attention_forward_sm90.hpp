// Attention on the tensor cores of sm_90a: TMA copies, products of warpgroups (wgmma), barriers in
// shared memory between the warps that copy and those that compute.
//
// Source: Shah et al. 2024, FlashAttention-3, of which it has the division of work and both
// overlaps; the masks and scores are functors.
#pragma once

#include <ashlar/cuda/attention_sm90_consumer.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// softmax(mask(score(scale q k^T))) v for 16-bit T, rows of keys in a tensor that TMA can
/// describe, and heads of up to Dk and Dv elements, both multiples of 64. As many blocks as there
/// are multiprocessors take tiles of queries in turn (TileOrder). In each, one thread of warpgroup
/// 0 copies, a tile or two ahead, and the other warpgroups compute. Keys come last tile first;
/// tiles that the mask hides from the whole block are not read.
template <class Problem, int Dk, int Dv, class Shape = Sm90Shape<Dk, Dv, Problem::has_score>>
struct AttentionForwardSm90 {
  static_assert(Dk % 64 == 0 && Dv % 64 == 0 && Dk <= 256 && Dv <= 256);
  static_assert(sizeof(typename Problem::T) == 2);
  using T = typename Problem::T;
  using Plan = Sm90Plan<Problem, Dk, Dv, Shape>;
  using Mapped = typename Plan::Mapped;

  /// What a launch is given; there are at most as many blocks as `multiprocessors`.
  struct Arguments {
    Problem problem;
    index_t multiprocessors;
  };

  static constexpr int needs_architecture = 90;
  static constexpr int queries = Plan::queries, keys = Plan::keys;
  static constexpr int warps = 4 * (Plan::consumers + 1), threads = 32 * warps;
  static constexpr std::uint32_t shared_size = Plan::shared_size;
  static std::size_t shared_bytes(const Arguments&) { return shared_size; }
  static Grid grid(const Arguments& a) { return {min_index(a.multiprocessors, order(a).count())}; }

  static TileOrder order(const Arguments& a) {
    const Problem& p = a.problem;
    const index_t bytes = p.kv.max_length() * (p.kv.key_width() + p.kv.value_width()) * 2;
    return tile_order(ceil_div(p.most_queries, queries), p.q.extent(0) * p.heads(),
                      p.heads() / p.kv.heads(), bytes);
  }
  /// What the kernel is given, with the maps that encode(TensorBoxes) makes.
  template <class Encode>
  static Mapped mapped(const Arguments& a, Encode encode) {
    const Problem& p = a.problem;
    return {encode(tensor_boxes<T>(p.q, queries)), encode(tensor_boxes<T>(p.kv.k, keys)),
            encode(tensor_boxes<T>(p.kv.v, keys)), p, order(a)};
  }

  template <class P>
  static ASHLAR_DEVICE void run(const Mapped& a) {
    const int thread = P::thread(), warpgroup = P::uniform(thread / 128);
    const Memory memory{P::shared_base()};
    if (thread == 0) {
      constexpr int readers = 4 * Plan::consumers;  // warps
      memory.q().template init<P>(readers);
      memory.k().template init<P>(readers);
      memory.v().template init<P>(readers);
      P::publish_barriers();
    }
    P::sync_block();
    if (warpgroup == 0) {
      P::template give_registers<Plan::producer_registers>();
      if (thread < 32 && P::elect()) copy_tiles<P>(a, memory);
    } else {
      P::template take_registers<Plan::consumer_registers>();
      Sm90Consumer<P, Plan>{a, memory, warpgroup - 1}.run();
    }
  }

 private:
  using Memory = typename Plan::Memory;

  template <class P>
  static ASHLAR_DEVICE void copy_tiles(const Mapped& a, const Memory& memory) {
    typename Plan::QueryRing::Place q;
    typename Plan::TileRing::Place k, v;
    P::prefetch_map(a.q);
    P::prefetch_map(a.k);
    P::prefetch_map(a.v);
    for (int item = P::block_x(); item < a.order.count(); item += P::blocks()) {
      const typename Plan::Work w(a, item);
      const int key_head = static_cast<int>(a.problem.key_head(w.head));
      int tile = w.first(a.problem);
      if (tile < 0) continue;
      copy<P, typename Plan::QueryTile>(memory.q(), q, memory.base, a.q, w.q0, w.head, w.b);
      const auto copy_keys = [&](int of) {
        copy<P, typename Plan::KeyTile>(memory.k(), k, memory.k_tile(k.stage()), a.k, of * keys,
                                        key_head, w.b);
      };
      copy_keys(tile);
      while (tile >= 0) {
        const int next = w.visible_before(a.problem, tile);
        if (next >= 0) copy_keys(next);
        copy<P, typename Plan::ValueTile>(memory.v(), v, memory.v_tile(v.stage()), a.v, tile * keys,
                                          key_head, w.b);
        tile = next;
      }
    }
  }

  /// Copies a tile to a place of a ring when it is free. What the tile has past the tensor becomes
  /// 0.
  template <class P, class Tile, class R>
  static ASHLAR_DEVICE void copy(const R& ring, typename R::Place& place, std::uint32_t to,
                                 const TensorMap& map, int row, int head, int b) {
    ring.template wait_free<P>(place);
    P::arrive_expecting(ring.full(place), Tile::bytes);
    ASHLAR_DEVICE_UNROLL
    for (int panel = 0; panel < Tile::columns / 64; ++panel)
      P::copy_box(to + static_cast<std::uint32_t>(panel * Tile::rows * 128), map, ring.full(place),
                  64 * panel, row, head, b);
    place.advance();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
