// One panel of queries against one tile of keys: scores, weights and values with the online
// softmax.
#pragma once

#include <ashlar/kernels/simd/attention_scores.hpp>
#include <ashlar/kernels/simd/attention_source.hpp>

namespace ashlar::inline ASHLAR_ABI::simd {

/// Up to panel_width queries of one head and their running state. q and o are [width][panel_width].
template <class Options>
class QueryPanel {
  using Rule = ScoreRule<OnLanes::queries, Options>;
  static constexpr bool scored = !std::is_same_v<typename Rule::ScoreType, NoScore>;

 public:
  /// Floats of memory a panel needs.
  static constexpr index_t size(index_t key_width, index_t value_width) {
    return panel_width * (key_width + 2 * value_width + 4);
  }

  QueryPanel(Rule rule, index_t position, index_t queries, index_t key_width, index_t value_width,
             float* memory)
      : rule_(rule),
        position_(position),
        queries_(queries),
        H_(key_width),
        Hv_(value_width),
        vectors_(static_cast<int>(ceil_div(queries, lanes))),
        q_(memory),
        span_{memory + panel_width * H_},
        total_{span_.m + size_of_state()} {}

  index_t queries() const { return queries_; }
  index_t position() const { return position_; }

  void begin(const float* q, index_t stride, float scale) {
    pack_queries(q, stride, queries_, H_, scale, q_);
    clear(total_);
  }

  /// Adds a tile of `count` keys from position k0 on. `finite_values()` is asked only where it
  /// matters; p is scratch of [64][panel_width].
  template <class Finite>
  void add(const KeyTile& tile, index_t k0, index_t count, TileKind kind, float* p,
           const Finite& finite_values) {
    if (kind != TileKind::full)
      kind = rule_.classify(position_, position_ + queries_, k0, k0 + count);
    if (kind == TileKind::skip) return;
    if (!in_span_) clear(span_);
    in_span_ = true;

    Vf m[panel_vectors], decay[panel_vectors];
    for (int v = 0; v < vectors_; ++v) m[v] = load(span_.m + v * lanes);
    if (kind == TileKind::full)
      score_full(tile.k, k0, count, p, m);
    else
      score_partial(tile.k, k0, count, p, m);
    for (index_t j = count; j < key_tile; ++j)
      for (int v = 0; v < vectors_; ++v) store(p + j * panel_width + v * lanes, set1(-HUGE_VALF));

    for (int v = 0; v < vectors_; ++v) {
      float *running = span_.m + v * lanes, *l = running + panel_width;
      const Vf base = base_of(m[v]);
      decay[v] = math::exp2_nonpositive(sub(load(running), base));
      store(l, fma(decay[v], load(l), weights(p + v * lanes, base)));
      store(running, m[v]);
    }
    float* o = output_of(span_);
    if (kind == TileKind::full) {
      values(p, tile.v, Hv_, 0, count, 0, vectors_, o, decay);
    } else if (finite_values()) {
      add_visible_values(tile.v, count, p, decay);
    } else {
      for_cells(count, [&](index_t g, int v, index_t j, index_t n) {
        for (index_t i = j; i < j + n; ++i)
          rule_.masked(p + i * panel_width + v * lanes, valid(v), position_ + v * lanes, k0 + i,
                       cells_[g][v], -1.f);
      });
      values_selected(p, tile.v, Hv_, count, vectors_, o, decay);
    }
  }

  /// Merges the span into the total.
  void end_span() {
    if (!in_span_) return;
    in_span_ = false;
    if (!started_) {
      started_ = true;
      std::swap(span_.m, total_.m);
      return;
    }
    for (int v = 0; v < vectors_; ++v) {
      float *m = total_.m + v * lanes, *l = m + panel_width, *o = output_of(total_) + v * lanes;
      const float *m2 = span_.m + v * lanes, *l2 = m2 + panel_width,
                  *o2 = output_of(span_) + v * lanes;
      const Vf top = maximum(load(m2), load(m)), base = base_of(top);
      const Vf first = math::exp2_nonpositive(sub(load(m), base)),
               second = math::exp2_nonpositive(sub(load(m2), base));
      store(l, fma(first, load(l), mul(second, load(l2))));
      store(m, top);
      for (index_t d = 0; d < Hv_; ++d, o += panel_width, o2 += panel_width)
        store(o, fma(first, load(o), mul(second, load(o2))));
    }
  }

  /// Writes the outputs and calls finish(i, state of query i, factor of its output).
  template <class Finish>
  void write(float* out, index_t stride, const Finish& finish) {
    float scale[panel_width] = {}, factor[panel_width] = {};
    for (index_t i = 0; i < queries_; ++i) {
      SoftmaxState<float> state{total_.m[i], total_.m[panel_width + i]};
      scale[i] = finish(i, state);
      if (state.l != 0.f)
        factor[i] = 1.f / state.l;
      else
        clear_output(i);
    }
    unpack_outputs(output_of(total_), queries_, Hv_, scale, factor, out, stride);
  }

 private:
  struct State {
    float* m;  // then l, then o
  };
  index_t size_of_state() const { return panel_width * (Hv_ + 2); }
  static float* output_of(State s) { return s.m + 2 * panel_width; }
  void clear(State s) {
    std::fill(s.m, s.m + panel_width, -HUGE_VALF);
    std::fill(s.m + panel_width, s.m + size_of_state(), 0.f);
  }
  void clear_output(index_t i) {
    for (index_t d = 0; d < Hv_; ++d) output_of(total_)[d * panel_width + i] = 0.f;
  }
  /// Queries in vector v.
  index_t valid(int v) const { return min_index(queries_ - v * lanes, lanes); }

  /// Calls f(group, vector, first key, keys) for every group of keys and vector of queries.
  template <class F>
  void for_cells(index_t count, const F& f) const {
    for (index_t j = 0, g = 0; j < count; j += tile_items, ++g)
      for (int v = 0; v < vectors_; ++v) f(g, v, j, min_index(tile_items, count - j));
  }

  void score_full(const Operand& k, index_t k0, index_t count, float* p, Vf* m) {
    Vf ignored[panel_vectors];
    for (int v = 0; v < panel_vectors; ++v) ignored[v] = set1(0.f);
    for (index_t j = 0; j < count; j += tile_items)
      scores(q_, H_, k, j, min_index(tile_items, count - j), 0, vectors_, p, scored ? ignored : m);
    if constexpr (scored)
      for (index_t j = 0; j < count; ++j)
        for (int v = 0; v < vectors_; ++v) {
          float* s = p + j * panel_width + v * lanes;
          rule_.scored(s, valid(v), position_ + v * lanes, k0 + j, TileKind::full);
          m[v] = maximum(load(s), m[v]);
        }
  }

  /// Asks the mask about every group of keys and vector of queries: hidden ones are left out at
  /// both ends of a group, and masked where they lie between visible ones.
  void score_partial(const Operand& k, index_t k0, index_t count, float* p, Vf* m) {
    Vf ignored[panel_vectors];
    for (int v = 0; v < panel_vectors; ++v) ignored[v] = set1(0.f);
    for (index_t j = 0, g = 0; j < count; j += tile_items, ++g) {
      const index_t n = min_index(tile_items, count - j);
      first_[g] = vectors_;
      last_[g] = 0;
      for (int v = 0; v < vectors_; ++v) {
        const index_t q = position_ + v * lanes;
        cells_[g][v] = rule_.classify(q, q + valid(v), k0 + j, k0 + j + n);
        if (cells_[g][v] == TileKind::skip) continue;
        first_[g] = first_[g] < v ? first_[g] : v;
        last_[g] = v + 1;
      }
      if (first_[g] < last_[g]) scores(q_, H_, k, j, n, first_[g], last_[g], p, ignored);
    }
    for_cells(count, [&](index_t g, int v, index_t j, index_t n) {
      for (index_t i = j; i < j + n; ++i) {
        float* s = p + i * panel_width + v * lanes;
        const index_t q = position_ + v * lanes;
        if constexpr (scored)
          rule_.scored(s, valid(v), q, k0 + i, cells_[g][v]);
        else
          rule_.masked(s, valid(v), q, k0 + i, cells_[g][v], -HUGE_VALF);
        m[v] = maximum(load(s), m[v]);
      }
    });
  }

  /// Runs of groups with the same visible vectors are one product.
  void add_visible_values(const Operand& v, index_t count, const float* p, const Vf* decay) {
    float* o = output_of(span_);
    for (index_t d = 0; d < Hv_; ++d)
      for (int i = 0; i < vectors_; ++i) {
        float* y = o + d * panel_width + i * lanes;
        store(y, mul(decay[i], load(y)));
      }
    const index_t groups = ceil_div(count, tile_items);
    for (index_t g = 0, end; g < groups; g = end) {
      for (end = g + 1; end < groups && first_[end] == first_[g] && last_[end] == last_[g];) ++end;
      if (first_[g] < last_[g])
        values(p, v, Hv_, g * tile_items, min_index(end * tile_items, count), first_[g], last_[g],
               o, nullptr);
    }
  }

  Rule rule_;
  index_t position_, queries_, H_, Hv_;
  int vectors_;
  float* q_;
  State span_, total_;
  bool in_span_ = false, started_ = false;
  TileKind cells_[key_tile / tile_items][panel_vectors] = {};
  int first_[key_tile / tile_items] = {}, last_[key_tile / tile_items] = {};
};

}  // namespace ashlar::inline ASHLAR_ABI::simd
