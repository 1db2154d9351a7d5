// How the keys and values of a decoding step lie in shared memory, from their copy to the product.
#pragma once

#include <ashlar/cuda/tile_math.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// A stage of a warp's ring for cached elements of type E, multiplied as T. begin() starts the
/// copies of a step; keys() and values(), one after the other, give the address of the tile that is
/// multiplied next. `tile` is the warp's own memory of tile_bytes.
template <class E, class T, int Keys, int Dk, int Dv>
struct DecodeStage;

/// Elements that are multiplied as they are stored: copied to where they stay.
template <class T, int Keys, int Dk, int Dv>
struct DecodeStage<T, T, Keys, Dk, Dv> {
  using KeyTile = SharedTile<Keys, Dk>;
  using ValueTile = SharedTile<Keys, Dv>;
  static constexpr std::uint32_t bytes = KeyTile::bytes + ValueTile::bytes, tile_bytes = 0;

  /// Of `count` keys from k0 on; the rest becomes 0.
  template <class P, class Source>
  static ASHLAR_DEVICE void begin(std::uint32_t stage, const Source& kv, index_t b, index_t head,
                                  index_t k0, index_t count, int lane) {
    copy_tile<P, KeyTile, 32>(stage, lane, count, kv.key_width(),
                              [&](int r) { return kv.key(b, head, k0 + r); });
    copy_tile<P, ValueTile, 32>(stage + KeyTile::bytes, lane, count, kv.value_width(),
                                [&](int r) { return kv.value(b, head, k0 + r); });
  }
  template <class P>
  static ASHLAR_DEVICE std::uint32_t keys(std::uint32_t stage, std::uint32_t, int) {
    return stage;
  }
  template <class P>
  static ASHLAR_DEVICE std::uint32_t values(std::uint32_t stage, std::uint32_t, int) {
    return stage + KeyTile::bytes;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
