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

/// y[m] = table[tokens[m]], rounded once to T. The table is F32, F16, BF16 or
/// Q8_0, as files store it or in panels. A token outside 0 .. V - 1 gives a row of NaN: nothing is
/// read for it, and it does not go unseen.
template <DType Type, WeightLayout Layout, class T>
struct EmbeddingRows {
  static_assert(Type == DType::f32 || Type == DType::f16 || Type == DType::bf16 ||
                    Type == DType::q8_0,
                "ashlar: no device code for embedding tables of this type");
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
      if constexpr (Layout == WeightLayout::rows && Type != DType::q8_0 &&
                    sizeof(Stored) == sizeof(T)) {
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
      if constexpr (Type == DType::q8_0) {
        const std::uint8_t* block = from + k / 32 * 34;
        return scale<P>(block) * static_cast<float>(static_cast<std::int8_t>(block[2 + k % 32]));
      } else {
        return stored(P::template load<Stored>(from + k * index_t{sizeof(Stored)}));
      }
    } else {
      const index_t r = n % panel_rows;
      const std::uint8_t* panel =
          w.data + n / panel_rows * PanelPieces<Type>::panel_size(w.columns);
      if constexpr (Type == DType::q8_0) {
        const std::uint8_t* block = panel + k / 32 * block_bytes;
        const int code = block[codes_at + k % 32 / 4 * 64 + 4 * r + k % 4];
        return scale<P>(block + 2 * r) * static_cast<float>(code - 128);
      } else if constexpr (Type == DType::bf16) {
        return stored(P::template load<Stored>(panel + ((k / 2 * panel_rows + r) * 2 + k % 2) * 2));
      } else {
        return stored(
            P::template load<Stored>(panel + (k * panel_rows + r) * index_t{sizeof(Stored)}));
      }
    }
  }
  static ASHLAR_DEVICE float stored(Stored x) { return static_cast<float>(x); }
  template <class P>
  static ASHLAR_DEVICE float scale(const std::uint8_t* at) {
    return static_cast<float>(P::template load<half>(at));
  }
  static constexpr index_t block_bytes = panel_block(DType::q8_0).bytes();
  static constexpr index_t codes_at = panel_block(DType::q8_0).codes();
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
