// Masks combine: a & b keeps what both keep, a | b what either keeps.
#pragma once

#include <ashlar/attention/tile_kind.hpp>

namespace ashlar::inline ASHLAR_ABI {

template <MaskPolicy A, MaskPolicy B>
struct MaskAnd {
  A a;
  B b;

  template <class P>
  ASHLAR_HD constexpr auto keep(index_t batch, index_t head, P q, P k) const requires requires {
    a.keep(batch, head, q, k) & b.keep(batch, head, q, k);
  }
  {
    const auto x = a.keep(batch, head, q, k);
    const auto y = b.keep(batch, head, q, k);
    return x & y;
  }
  ASHLAR_HD constexpr TileKind classify(index_t batch, index_t head, index_t q0, index_t q1,
                                        index_t k0, index_t k1) const {
    const TileKind x = a.classify(batch, head, q0, q1, k0, k1),
                   y = b.classify(batch, head, q0, q1, k0, k1);
    if (x == TileKind::skip || y == TileKind::skip) return TileKind::skip;
    return x == TileKind::full && y == TileKind::full ? TileKind::full : TileKind::partial;
  }
};

template <MaskPolicy A, MaskPolicy B>
struct MaskOr {
  A a;
  B b;

  template <class P>
  ASHLAR_HD constexpr auto keep(index_t batch, index_t head, P q, P k) const requires requires {
    a.keep(batch, head, q, k) | b.keep(batch, head, q, k);
  }
  {
    const auto x = a.keep(batch, head, q, k);
    const auto y = b.keep(batch, head, q, k);
    return x | y;
  }
  ASHLAR_HD constexpr TileKind classify(index_t batch, index_t head, index_t q0, index_t q1,
                                        index_t k0, index_t k1) const {
    const TileKind x = a.classify(batch, head, q0, q1, k0, k1),
                   y = b.classify(batch, head, q0, q1, k0, k1);
    if (x == TileKind::full || y == TileKind::full) return TileKind::full;
    return x == TileKind::skip && y == TileKind::skip ? TileKind::skip : TileKind::partial;
  }
};

template <MaskPolicy A, MaskPolicy B>
ASHLAR_HD constexpr MaskAnd<A, B> operator&(A a, B b) {
  return {a, b};
}
template <MaskPolicy A, MaskPolicy B>
ASHLAR_HD constexpr MaskOr<A, B> operator|(A a, B b) {
  return {a, b};
}

}  // namespace ashlar::inline ASHLAR_ABI
