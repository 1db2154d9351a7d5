// Rope: rotary positions on queries and keys.
#pragma once

#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Turns the first `rule.width` elements of a head; width 0 leaves all as they are (NoPE layers).
/// Source: Su et al. 2021, RoFormer.
///
/// Rules that depend on a length: Dynamic NTK goes by the end of each call, so keys in a cache keep
/// the angles of the call that wrote them. LongRoPE goes by the capacity that the sequences were
/// made for: beyond the trained context all their tokens have the long factors, also before the
/// sequence has grown that far.
/// Shapes   x [M, heads, H]
/// Throws   ValueError for an odd width; ShapeError for one beyond H
struct Rope {
  struct Config {
    RopeRule rule{};
    RopePairing pairing = RopePairing::half_split;
  };
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const BatchOf<B>& batch, TensorView<T, 3> x) {
    if (c.rule.width == 0) return;
    const auto table = batch.tables().template get<accumulator_t<T>>(c.rule, batch.positions());
    rope(ctx, table, c.pairing, x);
  }
};
static_assert(PositionPolicy<Rope>);

}  // namespace ashlar::inline ASHLAR_ABI
