// NoMask: every query sees every key.
#pragma once

#include <ashlar/attention/tile_kind.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct NoMask {
  ASHLAR_HD constexpr bool keep(index_t, index_t, index_t, index_t) const { return true; }
  ASHLAR_HD constexpr TileKind classify(index_t, index_t, index_t, index_t, index_t,
                                        index_t) const {
    return TileKind::full;
  }
};
static_assert(MaskPolicy<NoMask>);

}  // namespace ashlar::inline ASHLAR_ABI
