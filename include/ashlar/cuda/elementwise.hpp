// Activations, gated units, biases and residual additions: element by element.
#pragma once

#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/row_access.hpp>
#include <ashlar/ops/activation.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// What becomes of an element: apply(a, b, w) of the inputs that it has, b of a second matrix and w
/// of the channel. Values without numbers of their own but for Map.
namespace element {
/// f(a)
template <class Act>
struct Activation {
  static constexpr bool has_second = false, has_channel = false;
  static ASHLAR_DEVICE float apply(float a, float, float) { return Act::apply(a); }
};
/// f(a) b, for gate a and up b.
template <class Act>
struct Gate {
  static constexpr bool has_second = true, has_channel = false;
  static ASHLAR_DEVICE float apply(float a, float b, float) { return Act::apply(a) * b; }
};
/// a + w
struct AddBias {
  static constexpr bool has_second = false, has_channel = true;
  static ASHLAR_DEVICE float apply(float a, float, float w) { return a + w; }
};
/// a + b: the residual stream a and a branch.
struct AddBranch {
  static constexpr bool has_second = true, has_channel = false;
  static ASHLAR_DEVICE float apply(float a, float b, float) { return a + b; }
};
/// a + w b: the branch with LayerScale's w.
struct AddScaledBranch {
  static constexpr bool has_second = true, has_channel = true;
  static ASHLAR_DEVICE float apply(float a, float b, float w) { return std::fma(w, b, a); }
};
/// f(a), for a function of ops/map.hpp or of the caller's.
template <class F>
struct Map {
  static constexpr bool has_second = false, has_channel = false;
  F f;
  ASHLAR_DEVICE float apply(float a, float, float) const { return f(a); }
};
}  // namespace element

/// a, b, y [M, D], channel [D]. y may be a or b.
template <class Op, class T>
struct ElementwiseArguments {
  MatrixView<const T> a, b{};
  VectorView<const float> channel{};
  MatrixView<T> y;
  Op op{};
};

/// y = Op(a, b, channel), computed in f32. Pieces of all rows in one sequence; a thread takes
/// `together` of them, and has all of their reads under way at once.
template <class Op, class T>
struct Elementwise {
  using Arguments = ElementwiseArguments<Op, T>;
  static constexpr int needs_architecture = 0;
  static constexpr int threads = 256, blocks_per_multiprocessor = 3;
  static constexpr int N = piece<T>, together = 4;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) {
    return {ceil_div(a.y.extent(0) * ceil_div(a.y.extent(1), N), threads * together)};
  }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t D = a.y.extent(1), pieces = ceil_div(D, N);
    const index_t begin = index_t{P::block_x()} * threads * together;
    // One long division a block; those of the threads are short.
    const index_t row0 = begin / pieces;
    const auto in_row = static_cast<std::uint32_t>(pieces);
    const auto at0 = static_cast<std::uint32_t>(begin - row0 * pieces);
    index_t row[together], first[together];
    Quad x[together], second[together];
    ASHLAR_DEVICE_UNROLL
    for (int i = 0; i < together; ++i) {
      const std::uint32_t at = at0 + static_cast<std::uint32_t>(i * threads + P::thread());
      row[i] = row0 + at / in_row;
      first[i] = index_t{at % in_row} * N;
      if (row[i] >= a.y.extent(0)) continue;
      x[i] = load_piece<P>(a.a.row(row[i]), first[i], D);
      if constexpr (Op::has_second) second[i] = load_piece<P>(a.b.row(row[i]), first[i], D);
    }
    ASHLAR_DEVICE_UNROLL
    for (int i = 0; i < together; ++i) {
      if (row[i] >= a.y.extent(0)) continue;
      float y[N], b[N] = {}, w[N] = {};
      to_floats<P, T>(x[i], y);
      if constexpr (Op::has_second) to_floats<P, T>(second[i], b);
      if constexpr (Op::has_channel) load_channels<P>(a.channel.data(), first[i], D, w);
      ASHLAR_DEVICE_UNROLL
      for (int e = 0; e < N; ++e) y[e] = a.op.apply(y[e], b[e], w[e]);
      store_piece<P>(a.y.row(row[i]), first[i], D, to_piece<P, T>(y));
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
