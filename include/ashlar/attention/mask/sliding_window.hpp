// SlidingWindow: a query sees the last W keys, its own included.
#pragma once

#include <ashlar/attention/tile_kind.hpp>
#include <ashlar/core/error.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// q - W + 1 <= k <= q (V2). The default window has no end, so that a stack of windowed and full
/// layers is one type with a number per layer. Source: Beltagy et al. 2020, Longformer.
class SlidingWindow {
 public:
  static constexpr index_t unlimited = index_t{1} << 62;

  constexpr SlidingWindow() = default;
  /// Throws ValueError unless window >= 1.
  constexpr explicit SlidingWindow(index_t window)
      : window_(window < unlimited ? window : unlimited) {
    if (window < 1) fail<ValueError>("SlidingWindow: window is ", window, ", expected at least 1");
  }
  ASHLAR_HD constexpr index_t window() const { return window_; }

  template <class P>
  ASHLAR_HD constexpr auto keep(index_t, index_t, P q, P k) const {
    return (k <= q) & (k > q - detail::position<P>(window_));
  }
  ASHLAR_HD constexpr TileKind classify(index_t, index_t, index_t q0, index_t q1, index_t k0,
                                        index_t k1) const {
    if (k0 > q1 - 1 || k1 - 1 <= q0 - window_) return TileKind::skip;
    return k1 - 1 <= q0 && k0 > q1 - 1 - window_ ? TileKind::full : TileKind::partial;
  }

 private:
  index_t window_ = unlimited;
};
static_assert(MaskPolicy<SlidingWindow>);

}  // namespace ashlar::inline ASHLAR_ABI
