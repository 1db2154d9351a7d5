// The inner kernels of linear: real functions, so that g++ keeps all sums in registers.
#pragma once

#include <array>
#include <ashlar/kernels/simd/linear_weights.hpp>
#include <ashlar/ops/linear.hpp>
#include <utility>

namespace ashlar::inline ASHLAR_ABI::kernels::simd_linear {

/// Panels that one row of x passes in lockstep: streams that hide each other's row ends.
template <DType Type>
inline constexpr int lockstep = is_quantized(Type) && simd::lanes < 16 ? 2 : 4;
inline constexpr int most_lockstep = 4;

/// Rows and panels of a tile of sums: as many as the vector registers hold beside the weights and
/// one value of x.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int tile_sums = 24;  // of 32 registers
#elif defined(__AVX__)
inline constexpr int tile_sums = 12;  // of 16 registers
#else
inline constexpr int tile_sums = 8;  // of 16 registers, four of them hold weights
#endif
inline constexpr int tile_panels = simd::lanes == 16 ? 4 : 1;
inline constexpr int tile_rows = tile_sums / (tile_panels * panel_vectors);

template <int Vectors>
struct MultiplyAdd {
  const float* x;
  Vf* sum;
  ASHLAR_INLINE void operator()(index_t k, const Vf* w) const {
    const Vf a = simd::set1(x[k]);
    ASHLAR_UNROLL
    for (int i = 0; i < Vectors; ++i) sum[i] = simd::fma(a, w[i], sum[i]);
  }
};

/// One row of x times `count` k of some panels: sum[panels][16] = (or, not first, +=) the product.
template <DType Type, int Panels>
ASHLAR_NOINLINE void multiply_row(const std::byte* panel, index_t distance, const float* x,
                                  index_t count, bool first, float* sum) {
  constexpr int vectors = Panels * panel_vectors;
  Vf a[vectors];
  ASHLAR_UNROLL
  for (int i = 0; i < vectors; ++i) a[i] = simd::set1(0.f);
  walk<Type, Panels>(panel, distance, count, MultiplyAdd<vectors>{x, a});
  ASHLAR_UNROLL
  for (int i = 0; i < vectors; ++i) {
    float* out = sum + i * simd::lanes;
    simd::store(out, first ? a[i] : simd::add(simd::load(out), a[i]));
  }
}

template <int Vectors>
struct StoreWeights {
  float* out;
  index_t stride;
  ASHLAR_INLINE void operator()(index_t k, const Vf* w) const {
    ASHLAR_UNROLL
    for (int i = 0; i < Vectors; ++i) simd::store(out + k * stride + i * simd::lanes, w[i]);
  }
};

/// `count` k of a panel as floats [count][16], `stride` floats from k to k.
template <DType Type>
ASHLAR_NOINLINE void widen_panel(const std::byte* panel, index_t count, float* out,
                                 index_t stride) {
  walk<Type, 1>(panel, 0, count, StoreWeights<panel_vectors>{out, stride});
}

/// A tile: `count` k of its panels as floats [count][16], `distance` floats apart; its rows of x as
/// [count][Rows]; its sums [Rows][Panels * 16], which are set by the first block of k and grow by
/// the others.
struct Tile {
  const float* w;
  index_t distance;
  const float* x;
  index_t count;
  float* sum;
  bool first;
};

template <int Rows, int Panels>
ASHLAR_NOINLINE void multiply_tile(const Tile& tile) {
  constexpr int vectors = Panels * panel_vectors;
  Vf sum[Rows][vectors];
  ASHLAR_UNROLL
  for (int m = 0; m < Rows; ++m) {
    ASHLAR_UNROLL
    for (int i = 0; i < vectors; ++i) sum[m][i] = simd::set1(0.f);
  }
  const float *w = tile.w, *x = tile.x;
  const index_t distance = tile.distance;
  for (index_t k = 0; k < tile.count; ++k, w += panel_rows, x += Rows) {
    Vf b[vectors];
    ASHLAR_UNROLL
    for (int i = 0; i < vectors; ++i)
      b[i] =
          simd::pin(simd::load(w + i / panel_vectors * distance + i % panel_vectors * simd::lanes));
    ASHLAR_UNROLL
    for (int m = 0; m < Rows; ++m) {
      const Vf a = simd::set1(x[m]);
      ASHLAR_UNROLL
      for (int i = 0; i < vectors; ++i) sum[m][i] = simd::fma(a, b[i], sum[m][i]);
    }
  }
  ASHLAR_UNROLL
  for (int m = 0; m < Rows; ++m) {
    ASHLAR_UNROLL
    for (int i = 0; i < vectors; ++i) {
      float* to = tile.sum + (m * vectors + i) * simd::lanes;
      simd::store(to, tile.first ? sum[m][i] : simd::add(simd::load(to), sum[m][i]));
    }
  }
}

/// tiles<Panels>[rows - 1] for 1 <= rows <= tile_rows.
template <int Panels>
inline constexpr auto tiles = []<int... R>(std::integer_sequence<int, R...>) {
  return std::array<void (*)(const Tile&), tile_rows>{&multiply_tile<R + 1, Panels>...};
}
(std::make_integer_sequence<int, tile_rows>{});

/// tiles of `panels` panels, 1 or tile_panels.
inline void multiply_tile(int panels, index_t rows, const Tile& tile) {
  const auto r = static_cast<std::size_t>(rows - 1);
  (panels == 1 ? tiles<1>[r] : tiles<tile_panels>[r])(tile);
}

/// Floats of a block of k of a panel.
inline constexpr index_t widened_panel = linear_block * panel_rows;

/// Some panels from one k on, `distance` bytes apart.
struct PanelBlocks {
  const std::byte* data;
  index_t distance;
};
/// The same as floats [count][16], `distance` floats apart.
struct Widened {
  const float* data;
  index_t distance;
};

/// All that depends on the type of the weights.
struct TypeKernels {
  bool floats;
  int lockstep;
  decltype(&multiply_row<DType::f32, 1>) multiply_row;  // of `lockstep` panels
  decltype(&widen_panel<DType::f32>) widen_panel;

  /// `count` <= linear_block k of some panels: in place, or in `out`.
  Widened widen(PanelBlocks from, int panels, index_t count, float* out) const {
    if (floats)
      return {reinterpret_cast<const float*>(from.data),
              from.distance / static_cast<index_t>(sizeof(float))};
    for (int p = 0; p < panels; ++p)
      widen_panel(from.data + p * from.distance, count, out + p * widened_panel, panel_rows);
    return {out, widened_panel};
  }
};
template <DType Type>
inline constexpr TypeKernels type_kernels = {
    Type == DType::f32, lockstep<Type>, &multiply_row<Type, lockstep<Type>>, &widen_panel<Type>};
inline const TypeKernels& kernels_of(DType type) {
  switch (type) {
    case DType::f32:
      return type_kernels<DType::f32>;
    case DType::f16:
      return type_kernels<DType::f16>;
    case DType::bf16:
      return type_kernels<DType::bf16>;
    case DType::q8_0:
      return type_kernels<DType::q8_0>;
    case DType::q4_0:
      return type_kernels<DType::q4_0>;
    case DType::q4_1:
      return type_kernels<DType::q4_1>;
    case DType::q5_0:
      return type_kernels<DType::q5_0>;
    case DType::q5_1:
      return type_kernels<DType::q5_1>;
    case DType::q4_k:
      return type_kernels<DType::q4_k>;
    case DType::q5_k:
      return type_kernels<DType::q5_k>;
    case DType::q6_k:
      return type_kernels<DType::q6_k>;
    default:
      fail<ValueError>("linear: no kernel for weights of type ", info(type).name);
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::kernels::simd_linear
