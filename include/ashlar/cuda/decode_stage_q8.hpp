// A decoding step of a quantised cache: copied as it is stored, decoded into the tile.
#pragma once

#include <ashlar/core/q8_0.hpp>
#include <ashlar/cuda/decode_stage.hpp>
#include <ashlar/cuda/words.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Q8_0, multiplied as T: a value is scale times code, rounded to T. A stage holds codes in panels
/// of 64 columns, a row of which is 64 bytes, then a word of two scales for every row of each
/// panel; first those of the keys, then those of the values. Both are decoded into one tile.
template <class T, int Keys, int Dk, int Dv>
struct DecodeStage<Q8_0, T, Keys, Dk, Dv> {
  static_assert(Keys == 16);  // a lane for every row of keys, and one for every row of values
  using KeyTile = SharedTile<Keys, Dk>;
  using ValueTile = SharedTile<Keys, Dv>;
  static constexpr std::uint32_t key_codes = Keys * Dk, value_codes = Keys * Dv;
  static constexpr std::uint32_t key_scales = key_codes / 16, value_scales = value_codes / 16;
  static constexpr std::uint32_t values_at = key_codes + key_scales;
  static constexpr std::uint32_t bytes = values_at + value_codes + value_scales;
  static constexpr std::uint32_t tile_bytes =
      KeyTile::bytes > ValueTile::bytes ? KeyTile::bytes : ValueTile::bytes;

  template <class P, class Source>
  static ASHLAR_DEVICE void begin(std::uint32_t stage, const Source& kv, index_t b, index_t head,
                                  index_t k0, index_t count, int lane) {
    const int rows = static_cast<int>(min_index(count, Keys));
    copy_codes<P, Dk>(stage, rows, kv.key_width(), lane,
                      [&](int r) { return kv.key(b, head, k0 + r).codes; });
    copy_codes<P, Dv>(stage + values_at, rows, kv.value_width(), lane,
                      [&](int r) { return kv.value(b, head, k0 + r).codes; });
    const int row = lane % Keys;
    const index_t key = k0 + (row < rows ? row : 0);
    if (lane < Keys)
      copy_scales<P, Dk>(stage + key_codes, row, rows, kv.key_width(), kv.key(b, head, key).scales);
    else
      copy_scales<P, Dv>(stage + values_at + value_codes, row, rows, kv.value_width(),
                         kv.value(b, head, key).scales);
  }
  template <class P>
  static ASHLAR_DEVICE std::uint32_t keys(std::uint32_t stage, std::uint32_t tile, int lane) {
    decode<P, KeyTile>(tile, stage, stage + key_codes, lane);
    P::sync_warp();
    return tile;
  }
  template <class P>
  static ASHLAR_DEVICE std::uint32_t values(std::uint32_t stage, std::uint32_t tile, int lane) {
    P::sync_warp();  // nobody reads the keys any more
    decode<P, ValueTile>(tile, stage + values_at, stage + values_at + value_codes, lane);
    P::sync_warp();
    return tile;
  }

 private:
  static constexpr std::uint32_t panel_codes = Keys * 64, panel_scales = Keys * 4;

  /// Four lanes copy the 64 bytes of a row in a panel; a lane takes the same place of every eighth
  /// row and of every panel.
  template <class P, int D, class RowOf>
  static ASHLAR_DEVICE void copy_codes(std::uint32_t to, int rows, index_t width, int lane,
                                       RowOf row_of) {
    const int place = lane % 4 * 16, last = static_cast<int>(width);
    ASHLAR_DEVICE_UNROLL
    for (int i = 0; i < Keys; i += 8) {
      const int row = i + lane / 4;
      const std::int8_t* from = row_of(row < rows ? row : 0) + place;
      ASHLAR_DEVICE_UNROLL
      for (int panel = 0; panel < D / 64; ++panel) {
        const bool inside = row < rows && panel * 64 + place < last;
        P::copy_async(to + static_cast<std::uint32_t>(panel) * panel_codes +
                          static_cast<std::uint32_t>(row * 64 + place),
                      from + (inside ? panel * 64 : 0), inside);
      }
    }
  }
  template <class P, int D>
  static ASHLAR_DEVICE void copy_scales(std::uint32_t to, int row, int rows, index_t width,
                                        const half* from) {
    ASHLAR_DEVICE_UNROLL
    for (int panel = 0; panel < D / 64; ++panel) {
      const bool inside = row < rows && panel * 64 < width;
      P::template copy_async<4>(to + static_cast<std::uint32_t>(panel) * panel_scales +
                                    static_cast<std::uint32_t>(row * 4),
                                from + (inside ? 2 * panel : 0), inside);
    }
  }
  /// A lane decodes 16 codes at a time, the same place of every eighth row and of every panel.
  template <class P, class Tile>
  static ASHLAR_DEVICE void decode(std::uint32_t tile, std::uint32_t codes, std::uint32_t scales,
                                   int lane) {
    const int place = lane % 4;
    ASHLAR_DEVICE_UNROLL
    for (int panel = 0; panel < Tile::columns / 64; ++panel) {
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < Keys; i += 8) {
        const int row = i + lane / 4;
        const auto n = static_cast<std::uint32_t>(panel), r = static_cast<std::uint32_t>(row);
        const Quad x = P::template load_shared<Quad>(codes + n * panel_codes + r * 64 +
                                                     static_cast<std::uint32_t>(place * 16));
        float low, high;
        P::template unpack<half>(
            P::template load_shared<std::uint32_t>(scales + n * panel_scales + r * 4), low, high);
        const float scale = place < 2 ? low : high;
        Quad y[2];
        ASHLAR_DEVICE_UNROLL
        for (int w = 0; w < 4; ++w) {
          const std::uint32_t four = x.word[w] ^ 0x80808080u;
          y[w / 2].word[w % 2 * 2] =
              P::template pack<T>(code(four & 255u) * scale, code(four >> 8 & 255u) * scale);
          y[w / 2].word[w % 2 * 2 + 1] =
              P::template pack<T>(code(four >> 16 & 255u) * scale, code(four >> 24) * scale);
        }
        P::store_shared(tile + Tile::offset(row, panel * 8 + 2 * place), y[0]);
        P::store_shared(tile + Tile::offset(row, panel * 8 + 2 * place + 1), y[1]);
      }
    }
  }
  /// A code whose sign bit is turned, as a float without the slow conversion: 2^23 + it, less 2^23
  /// and the 128 that the sign bit became.
  static ASHLAR_DEVICE float code(std::uint32_t turned) {
    return __builtin_bit_cast(float, 0x4b000000u | turned) - 8388736.f;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
