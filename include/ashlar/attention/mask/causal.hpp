// CausalMask: a query sees the keys at its own position and before.
#pragma once

#include <ashlar/attention/tile_kind.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// k <= q, on absolute positions (V1): a query at a negative position sees nothing.
struct CausalMask {
  template <class P>
  ASHLAR_HD constexpr auto keep(index_t, index_t, P q, P k) const {
    return k <= q;
  }
  ASHLAR_HD constexpr TileKind classify(index_t, index_t, index_t q0, index_t q1, index_t k0,
                                        index_t k1) const {
    if (k0 > q1 - 1) return TileKind::skip;
    return k1 - 1 <= q0 ? TileKind::full : TileKind::partial;
  }
};
static_assert(MaskPolicy<CausalMask>);

}  // namespace ashlar::inline ASHLAR_ABI
