// LocalWindow: a query sees the keys on both sides of it, up to a distance.
#pragma once

#include <ashlar/attention/tile_kind.hpp>
#include <ashlar/core/error.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// |q - k| <= distance, both ends included: a window of 2 distance + 1 keys. The default has no
/// end, so that a stack of local and global layers is one type with a number per layer. Source:
/// Beltagy et al. 2020, Longformer; ModernBERT, whose `local_attention` is twice the distance.
class LocalWindow {
 public:
  static constexpr index_t unlimited = index_t{1} << 61;

  constexpr LocalWindow() = default;
  /// Throws ValueError unless distance >= 0.
  constexpr explicit LocalWindow(index_t distance)
      : distance_(distance < unlimited ? distance : unlimited) {
    if (distance < 0)
      fail<ValueError>("LocalWindow: distance is ", distance, ", expected at least 0");
  }
  ASHLAR_HD constexpr index_t distance() const { return distance_; }

  template <class P>
  ASHLAR_HD constexpr auto keep(index_t, index_t, P q, P k) const {
    const P d = detail::position<P>(distance_);
    return (k <= q + d) & (k >= q - d);
  }
  ASHLAR_HD constexpr TileKind classify(index_t, index_t, index_t q0, index_t q1, index_t k0,
                                        index_t k1) const {
    if (k0 > q1 - 1 + distance_ || k1 - 1 < q0 - distance_) return TileKind::skip;
    return k1 - 1 <= q0 + distance_ && k0 >= q1 - 1 - distance_ ? TileKind::full
                                                                : TileKind::partial;
  }

 private:
  index_t distance_ = unlimited;
};
static_assert(MaskPolicy<LocalWindow>);

}  // namespace ashlar::inline ASHLAR_ABI
