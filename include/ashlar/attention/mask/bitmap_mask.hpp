// BitmapMask: any boolean mask, a bit for each pair of query and key, with a summary of its tiles.
#pragma once

#include <ashlar/attention/mask/bit_table.hpp>
#include <ashlar/attention/options.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Query row t of sequence b and head h sees key k where bit (b, h, t, k) is set. The row of a
/// query at position p is p - first_query, so that with the q_offset of the call as first_query a
/// mask [.., T, S] belongs to the call's own T queries; without it rows are positions. Pairs that
/// the bits do not reach are hidden, and the default hides everything. Made by Bitmap, whose words
/// stay the caller's.
///
/// Tiles are classified exactly: whole tiles of 64 x 64 by two bits of the summary, others by
/// their bits, until a visible and a hidden pair are seen.
class BitmapMask {
 public:
  static constexpr BitTable::Count tile = 64;

  constexpr BitmapMask() = default;
  /// summary: bits 2 c and 2 c + 1 of row r say whether tile (r, c) has visible and hidden pairs.
  constexpr BitmapMask(const BitTable& pairs, const BitTable& summary, PerSequence first_query)
      : pairs_(pairs), summary_(summary), first_query_(first_query) {}

  ASHLAR_HD bool keep(index_t b, index_t h, index_t q, index_t k) const {
    const index_t t = q - first_query_(b, 0);
    return t >= 0 && t < pairs_.rows && k < pairs_.columns &&
           pairs_.bit(b, h, static_cast<Count>(t), static_cast<Count>(k));
  }
  ASHLAR_HD TileKind classify(index_t b, index_t h, index_t q0, index_t q1, index_t k0,
                              index_t k1) const {
    const index_t first = first_query_(b, 0);
    return detail::classify_known(
        pairs_.rows, pairs_.columns, q0 - first, q1 - first, k0, k1,
        [&](Count t0, Count t1, Count c0, Count c1) { return known_kind(b, h, t0, t1, c0, c1); });
  }

 private:
  using Count = BitTable::Count;

  ASHLAR_HD TileKind known_kind(index_t b, index_t h, Count t0, Count t1, Count k0,
                                Count k1) const {
    bool some_visible = false, some_hidden = false;
    for (Count r = t0 / tile; r * tile < t1; ++r)
      for (Count c = k0 / tile; c * tile < k1; ++c) {
        bool visible = summary_.bit(b, h, r, 2 * c), hidden = summary_.bit(b, h, r, 2 * c + 1);
        if (visible && hidden) {  // the part inside may be of one kind
          const Count a0 = larger(t0, r * tile), a1 = smaller(t1, r * tile + tile);
          const Count c0 = larger(k0, c * tile), c1 = smaller(k1, c * tile + tile);
          if ((a1 - a0) * (c1 - c0) == tile * tile) return TileKind::partial;
          const TileKind part = pairs_.kind(b, h, a0, a1, c0, c1);
          visible = part != TileKind::skip;
          hidden = part != TileKind::full;
        }
        some_visible = some_visible || visible;
        some_hidden = some_hidden || hidden;
        if (some_visible && some_hidden) return TileKind::partial;
      }
    return some_visible ? TileKind::full : TileKind::skip;
  }

  ASHLAR_HD static Count larger(Count a, Count b) { return a < b ? b : a; }
  ASHLAR_HD static Count smaller(Count a, Count b) { return b < a ? b : a; }

  BitTable pairs_, summary_;
  PerSequence first_query_;
};
static_assert(MaskPolicy<BitmapMask>);

/// The bits of a boolean mask [batch or 1, heads or 1, T, S] on the host, with their summary. An
/// extent of 1 serves all sequences or heads.
class Bitmap {
 public:
  /// Asks visible(b, h, t, k) once for each pair. Throws ShapeError unless extents are at least 1.
  template <class Visible>
  Bitmap(index_t batch, index_t heads, index_t queries, index_t keys, const Visible& visible)
      : pairs_(batch, heads, queries, keys),
        summary_(batch, heads, ceil_div(queries, BitmapMask::tile),
                 2 * ceil_div(keys, BitmapMask::tile)) {
    for (index_t b = 0; b < batch; ++b)
      for (index_t h = 0; h < heads; ++h)
        for (index_t t = 0; t < queries; ++t)
          for (index_t k = 0; k < keys; ++k) {
            const bool seen = visible(b, h, t, k);
            if (seen) pairs_.set(b, h, t, k);
            summary_.set(b, h, t / BitmapMask::tile, 2 * (k / BitmapMask::tile) + (seen ? 0 : 1));
          }
  }
  /// Of a tensor of bools or bytes; what is not 0 is visible.
  template <class T>
  requires std::is_integral_v<T>
  explicit Bitmap(TensorView<const T, 4> x)
      : Bitmap(x.extent(0), x.extent(1), x.extent(2), x.extent(3),
               [&](index_t b, index_t h, index_t t, index_t k) { return x(b, h, t, k) != 0; }) {}

  /// What to copy to another memory, where the mask below takes the addresses.
  const std::vector<std::uint32_t>& words() const { return pairs_.words(); }
  const std::vector<std::uint32_t>& summary_words() const { return summary_.words(); }

  BitmapMask mask(PerSequence first_query = {}) const {
    return {pairs_.table(), summary_.table(), first_query};
  }
  /// The mask of copies of words() and summary_words().
  BitmapMask mask(const std::uint32_t* words, const std::uint32_t* summary_words,
                  PerSequence first_query = {}) const {
    return {pairs_.table(words), summary_.table(summary_words), first_query};
  }

 private:
  BitRows pairs_, summary_;
};

}  // namespace ashlar::inline ASHLAR_ABI
