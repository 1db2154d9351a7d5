// Masks and scores on vectors of queries or keys, for every attention kernel.
#pragma once

#include <ashlar/attention/online_softmax.hpp>
#include <ashlar/attention/options.hpp>
#include <ashlar/attention/tile_kind.hpp>
#include <ashlar/kernels/simd/vec_math.hpp>

namespace ashlar::inline ASHLAR_ABI::simd {

/// log2_score on vectors.
ASHLAR_INLINE Vf log2_scores(Vf s) {
  const Vf x = fma(s, set1(1.4426950408889634f), set1(0.f)), highest = set1(FLT_MAX);
  const Vf bounded = minimum(maximum(x, set1(-FLT_MAX)), highest);
  return select(less(math::Ops<Vf>::abs(s), set1(HUGE_VALF)), bounded, s);
}

/// Which index runs over the lanes.
enum class OnLanes { queries, keys };

/// The mask and score of one sequence and head, applied to vectors of products.
template <OnLanes Lanes, class Options>
struct ScoreRule {
  using MaskType = std::remove_cvref_t<decltype(Options::mask)>;
  using ScoreType = std::remove_cvref_t<decltype(Options::score)>;
  static constexpr bool vector_mask = requires(const MaskType& m, index_t i, Vf p) {
    { m.keep(i, i, p, p) } -> std::same_as<Mask>;
  };
  static constexpr bool vector_score = requires(const ScoreType& s, index_t i, Vf x) {
    { s(x, i, i, x, x) } -> std::same_as<Vf>;
  };

  const Options& options;
  index_t b, head;

  TileKind classify(index_t q0, index_t q1, index_t k0, index_t k1) const {
    return q0 >= q1 || k0 >= k1 ? TileKind::skip : options.mask.classify(b, head, q0, q1, k0, k1);
  }

  /// `n` products in natural units become scores in log2 units, -inf where hidden. Policies are
  /// never asked about lanes past n, whose result has no meaning.
  void scored(float* s, index_t n, index_t q, index_t k, TileKind kind) const {
    if (kind == TileKind::skip) return store(s, set1(-HUGE_VALF));
    if constexpr (vector_score) {
      if (exact(q, k)) {
        const Vf x = options.score(load(s), b, head, queries(q), keys(k));
        store(s, log2_scores(x));
        return masked(s, n, q, k, kind, -HUGE_VALF);
      }
    }
    for (index_t i = 0; i < n; ++i)
      s[i] = kind == TileKind::full || keep(q, k, i)
                 ? log2_score(ashlar::detail::apply_score(options.score, s[i], b, head, query(q, i),
                                                          key(k, i)))
                 : -HUGE_VALF;
  }

  /// Puts `hidden` where the mask hides.
  void masked(float* s, index_t n, index_t q, index_t k, TileKind kind, float hidden) const {
    if (kind == TileKind::full) return;
    if (kind == TileKind::skip) return store(s, set1(hidden));
    if constexpr (vector_mask) {
      if (exact(q, k)) {
        const Mask visible = options.mask.keep(b, head, queries(q), keys(k));
        return store(s, select(visible, load(s), set1(hidden)));
      }
    }
    for (index_t i = 0; i < n; ++i)
      if (!keep(q, k, i)) s[i] = hidden;
  }

 private:
  static index_t query(index_t q, index_t i) { return Lanes == OnLanes::queries ? q + i : q; }
  static index_t key(index_t k, index_t i) { return Lanes == OnLanes::keys ? k + i : k; }
  bool keep(index_t q, index_t k, index_t i) const {
    return options.mask.keep(b, head, query(q, i), key(k, i));
  }
  static Vf queries(index_t q) { return positions(q, Lanes == OnLanes::queries); }
  static Vf keys(index_t k) { return positions(k, Lanes == OnLanes::keys); }
  static Vf positions(index_t first, bool on_lanes) {
    const Vf x = set1(static_cast<float>(first));
    return on_lanes ? add(x, iota()) : x;
  }
  /// Positions are exact as floats.
  static bool exact(index_t q, index_t k) {
    constexpr index_t limit = (index_t{1} << 24) - lanes;
    return q > -limit && q < limit && k < limit;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::simd
