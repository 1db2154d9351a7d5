// Rows of an embedding table, one for each token.
#pragma once

#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/panel_pieces.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// tokens [M], table [V, D], y [M, D].
template <class T>
struct EmbeddingArguments {
  VectorView<const std::int32_t> tokens;
  DeviceWeights table;
  MatrixView<T> y;
};

/// y[m] = table[tokens[m]], rounded once to T. The table is F32, F16, BF16, Q8_0, Q4_0 or Q4_1, as
/// files store it or in panels. A token outside 0 .. V - 1 gives a row of NaN: nothing is
/// read for it, and it does not go unseen.
template <DType Type, WeightLayout Layout, class T>
struct EmbeddingRows {
  static_assert(is_weight_type(Type), "ashlar: no device code for embedding tables of this type");
  using Arguments = EmbeddingArguments<T>;
  static constexpr int needs_architecture = 0;
  static constexpr int threads = 128, blocks_per_multiprocessor = 8;
  static constexpr int N = piece<T>;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) { return {a.tokens.extent(0)}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t m = P::block_x(), D = a.table.columns, token = a.tokens.data()[m];
    const bool exists = token >= 0 && token < a.table.rows;
    for (index_t first = index_t{P::thread()} * N; first < D; first += index_t{threads} * N) {
      float v[N];
      if constexpr (Layout == WeightLayout::rows && !blocks && sizeof(Stored) == sizeof(T)) {
        if (exists) to_floats<P, Stored>(load_piece<P>(row<Stored>(a, token), first, D), v);
      } else {
        ASHLAR_DEVICE_UNROLL
        for (int e = 0; e < N; ++e)
          if (exists && first + e < D) v[e] = value<P>(a.table, token, first + e);
      }
      ASHLAR_DEVICE_UNROLL
      for (int e = 0; e < N; ++e)
        if (!exists) v[e] = __builtin_bit_cast(float, 0x7fc00000u);
      store_piece<P>(a.y.row(m), first, D, to_piece<P, T>(v));
    }
  }

 private:
  using Stored = std::conditional_t<Type == DType::f32, float,
                                    std::conditional_t<Type == DType::bf16, bfloat16, half>>;

  template <class S>
  static ASHLAR_DEVICE const S* row(const Arguments& a, index_t token) {
    return reinterpret_cast<const S*>(a.table.data + token * a.table.row_bytes);
  }
  /// Where elements are no neighbours, or of another size than in y, they come one by one.
  template <class P>
  static ASHLAR_DEVICE float value(const DeviceWeights& w, index_t n, index_t k) {
    if constexpr (Layout == WeightLayout::rows) {
      const std::uint8_t* from = w.data + n * w.row_bytes;
      if constexpr (!blocks) {
        return stored(P::template load<Stored>(from + k * index_t{sizeof(Stored)}));
      } else {
        const std::uint8_t* block = from + k / 32 * stored_bytes;
        const std::uint8_t* codes = block + stored_bytes - (Type == DType::q8_0 ? 32 : 16);
        if constexpr (Type == DType::q8_0)
          return decoded<P>(static_cast<std::int8_t>(codes[k % 32]), block, block + 2);
        else
          return decoded<P>(codes[k % 16] >> k % 32 / 16 * 4 & 15, block, block + 2);
      }
    } else {
      const index_t r = n % panel_rows;
      const std::uint8_t* panel =
          w.data + n / panel_rows * PanelPieces<Type>::panel_size(w.columns);
      if constexpr (blocks) {
        const std::uint8_t* block = panel + k / 32 * block_bytes;
        const std::uint8_t* codes = block + codes_at + 4 * r + k % 4;
        const std::uint8_t *scale = block + 2 * r, *offset = scale + 32;
        if constexpr (Type == DType::q8_0)
          return decoded<P>(codes[k % 32 / 4 * 64] - 128, scale, offset);
        else
          return decoded<P>(codes[k % 32 / 8 * 64] >> k % 8 / 4 * 4 & 15, scale, offset);
      } else if constexpr (Type == DType::bf16) {
        return stored(P::template load<Stored>(panel + ((k / 2 * panel_rows + r) * 2 + k % 2) * 2));
      } else {
        return stored(
            P::template load<Stored>(panel + (k * panel_rows + r) * index_t{sizeof(Stored)}));
      }
    }
  }
  /// A code's value, with the roundings of PanelPieces.
  template <class P>
  static ASHLAR_DEVICE float decoded(int code, const std::uint8_t* scale,
                                     [[maybe_unused]] const std::uint8_t* offset) {
    const auto d = static_cast<float>(P::template load<half>(scale));
    const auto c = static_cast<float>(code);
    if constexpr (Type == DType::q8_0) return c * d;
    if constexpr (Type == DType::q4_0) return std::fma(c, d, -8.f * d);
    if constexpr (Type == DType::q4_1)
      return std::fma(c, d, static_cast<float>(P::template load<half>(offset)));
    return 0.f;
  }
  static ASHLAR_DEVICE float stored(Stored x) { return static_cast<float>(x); }
  static constexpr PanelBlock format = panel_block(Type);
  static constexpr index_t block_bytes = format.bytes(), codes_at = format.codes();
  static constexpr bool blocks = PanelPieces<Type>::blocks;
  static constexpr index_t stored_bytes = info(Type).bytes;
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
