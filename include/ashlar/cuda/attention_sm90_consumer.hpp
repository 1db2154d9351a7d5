// The warpgroups of the sm_90a attention kernel that compute.
#pragma once

#include <ashlar/cuda/attention_sm90_plan.hpp>
#include <ashlar/cuda/matrix_descriptor.hpp>
#include <ashlar/cuda/tile_math.hpp>
#include <ashlar/cuda/words.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Warpgroup `group` of those that compute, with queries 64 group .. 64 group + 63 of each tile.
template <class P, class Plan>
struct Sm90Consumer {
  using Problem = typename Plan::Problem;
  using T = typename Problem::T;
  using Scores = float[Plan::keys / 8][4];
  using Weights = std::uint32_t[Plan::keys / 16][4];
  using Outputs = float[Plan::value_columns / 8][4];

  const typename Plan::Mapped& a;
  typename Plan::Memory memory;
  int group;
  int lane = P::thread() % 32, warp = P::thread() / 32 % 4;
  typename Plan::QueryRing::Place q{};
  typename Plan::TileRing::Place k{}, v{};

  ASHLAR_DEVICE void run() {
    if (Plan::takes_turns && group == 1) pass_turn();  // the first turn is group 0's
    for (int item = P::block_x(); item < a.order.count(); item += P::blocks()) {
      const typename Plan::Work w(a, item);
      Outputs o = {};
      SoftmaxRows rows;
      const int first = w.first(a.problem);
      if (first >= 0) {
        memory.q().template wait_full<P>(q);
        if constexpr (Plan::overlap)
          attend_overlapped(w, first, o, rows);
        else
          attend(w, first, o, rows);
      }
      store_rows<P>(a.problem, o, rows, a.problem.score_factor(), w.b, w.head,
                    w.q0 + 64 * group + 16 * warp, lane, w.query_count);
    }
  }

 private:
  using Work = typename Plan::Work;

  /// The softmax of a tile while the weights of the one before meet V.
  ASHLAR_DEVICE void attend_overlapped(const Work& w, int tile, Outputs& o, SoftmaxRows& rows) {
    Weights weights;
    float decay[2];
    {
      Scores s;
      memory.k().template wait_full<P>(k);
      multiply_queries(s);
      P::template wait_products<0>();
      P::hold(s);
      memory.k().template release<P>(k, lane);
      finish(w, s, tile);
      weigh_scores<P>(rows, s, a.problem.score_factor(), decay);
      pack_weights<P, T>(s, weights);
    }
    clear_values_past_the_end(w, tile);
    while ((tile = w.visible_before(a.problem, tile)) >= 0) {
      Scores s;
      memory.k().template wait_full<P>(k);
      wait_for_turn();
      multiply_queries(s);
      memory.v().template wait_full<P>(v);
      multiply_values(o, weights);
      if constexpr (Plan::takes_turns) pass_turn();
      P::template wait_products<1>();
      P::hold(s);
      memory.k().template release<P>(k, lane);
      finish(w, s, tile);
      weigh_scores<P>(rows, s, a.problem.score_factor(), decay);
      P::template wait_products<0>();
      P::hold(o);
      memory.v().template release<P>(v, lane);
      pack_weights<P, T>(s, weights);
      scale_rows(o, decay);
    }
    memory.q().template release<P>(q, lane);
    memory.v().template wait_full<P>(v);
    multiply_values(o, weights);
    P::template wait_products<0>();
    P::hold(o);
    memory.v().template release<P>(v, lane);
  }

  /// One tile after the other.
  ASHLAR_DEVICE void attend(const Work& w, int tile, Outputs& o, SoftmaxRows& rows) {
    for (bool is_first = true; tile >= 0; is_first = false) {
      Scores s;
      Weights weights;
      float decay[2];
      memory.k().template wait_full<P>(k);
      multiply_queries(s);
      P::template wait_products<0>();
      P::hold(s);
      memory.k().template release<P>(k, lane);
      finish(w, s, tile);
      weigh_scores<P>(rows, s, a.problem.score_factor(), decay);
      pack_weights<P, T>(s, weights);
      scale_rows(o, decay);
      if (is_first) clear_values_past_the_end(w, tile);
      memory.v().template wait_full<P>(v);
      multiply_values(o, weights);
      P::template wait_products<0>();
      P::hold(o);
      memory.v().template release<P>(v, lane);
      tile = w.visible_before(a.problem, tile);
    }
    memory.q().template release<P>(q, lane);
  }

  ASHLAR_DEVICE void wait_for_turn() const {
    if constexpr (Plan::takes_turns) P::sync_threads(1 + group, 256);
  }
  ASHLAR_DEVICE void pass_turn() const { P::arrive_threads(2 - group, 256); }

  ASHLAR_DEVICE void multiply_queries(Scores& s) const {
    using QueryTile = typename Plan::QueryTile;
    const std::uint32_t mine = memory.base + QueryTile::rows_down(64) * std::uint32_t(group);
    P::begin_products();
    ASHLAR_DEVICE_UNROLL
    for (int step = 0; step < Plan::key_columns / 16; ++step)
      P::template multiply_tiles<T>(
          s, row_operand<QueryTile>(mine, step),
          row_operand<typename Plan::KeyTile>(memory.k_tile(k.stage()), step), step > 0);
    P::commit_products();
  }
  ASHLAR_DEVICE void multiply_values(Outputs& o, const Weights& weights) const {
    P::begin_products();
    ASHLAR_DEVICE_UNROLL
    for (int step = 0; step < Plan::keys / 16; ++step)
      P::template multiply_fragment<T>(
          o, weights[step],
          column_operand<typename Plan::ValueTile>(memory.v_tile(v.stage()), step));
    P::commit_products();
  }

  /// From products to scores: their sign, what the mask hides, the score functor.
  ASHLAR_DEVICE void finish(const Work& w, Scores& s, int tile) const {
    if (!Problem::has_score && a.problem.scale < 0.f) {
      const float minus[2] = {-1.f, -1.f};
      scale_rows(s, minus);
    }
    const int t0 = w.q0 + 64 * group, k0 = tile * Plan::keys;
    const TileKind kind = w.kind(a.problem, tile, t0, 64);
    if (Problem::has_score || kind != TileKind::full || k0 + Plan::keys > w.key_count)
      finish_scores(a.problem, s, w.b, kind, k0, w.key_count, w.q_offset, lane,
                    [&](int row, int& of_head, int& t) {
                      of_head = w.head;
                      t = t0 + 16 * warp + row;
                      return t < w.query_count;
                    });
  }

  /// Values of a sequence's last tile that are past its end, but inside of the tensor, were copied:
  /// zeros instead, as a weight of 0 times NaN is NaN.
  ASHLAR_DEVICE void clear_values_past_the_end(const Work& w, int tile) const {
    using Tile = typename Plan::ValueTile;
    constexpr int readers = 128 * Plan::consumers;
    const int count = w.key_count - tile * Plan::keys;
    if (count >= Plan::keys || w.key_count >= a.problem.kv.max_length()) return;
    memory.v().template wait_full<P>(v);
    for (int i = P::thread() - 128; i < (Plan::keys - count) * Tile::chunks; i += readers)
      P::store_shared(
          memory.v_tile(v.stage()) + Tile::offset(count + i / Tile::chunks, i % Tile::chunks),
          Quad{});
    P::publish_writes();
    P::sync_threads(3, readers);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
