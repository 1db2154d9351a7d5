// rope: rotary position embedding, from a table of cosines and sines.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <cmath>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// Which elements form a pair (V8). half_split: i with i + r/2 (Llama as Hugging Face stores it);
/// interleaved: 2i with 2i + 1 (GPT-J, and Llama as GGUF files store it).
enum class RopePairing { half_split, interleaved };

/// Angle a position of each pair, and a factor on cosine and sine. Scaling rules (linear, YaRN, ..)
/// are other ways to fill this.
struct RopeFrequencies {
  std::vector<double> inverse;  // [r / 2], radians a position
  double magnitude = 1;
};

/// theta^(-2i / s), i < r / 2, in double, with s = r unless `shares` says another number. Source:
/// Su et al. 2021, RoFormer. Throws ValueError for an odd or negative width r or theta <= 0.
inline RopeFrequencies rope_frequencies(double theta, index_t width, index_t shares = -1) {
  if (width < 0 || width % 2 != 0)
    fail<ValueError>("rope: rotary width is ", width, ", expected an even number of at least 0");
  if (!(theta > 0)) fail<ValueError>("rope: theta is ", theta, ", expected above 0");
  RopeFrequencies f;
  for (index_t i = 0; i < width; i += 2)
    f.inverse.push_back(std::pow(
        theta, -static_cast<double>(i) / static_cast<double>(shares < 0 ? width : shares)));
  return f;
}

/// Fills a table with the cosines and sines of each row's position; angles are formed in double, so
/// that they are right to the last bit of a float at any position.
///
/// Shapes   positions [M], table [M, 2, r / 2]: row m holds its cosines, then its sines
/// Cost     M r / 2 sine and cosine pairs: share the table between layers
template <class A>
void rope_table(const RopeFrequencies& frequencies, VectorView<const index_t> positions,
                TensorView<A, 3> table) {
  const auto pairs = static_cast<index_t>(frequencies.inverse.size());
  expect_shape("rope_table", "table", table, {positions.extent(0), 2, pairs});
  for (index_t m = 0; m < positions.extent(0); ++m)
    for (index_t i = 0; i < pairs; ++i) {
      const double angle =
          static_cast<double>(positions(m)) * frequencies.inverse[static_cast<std::size_t>(i)];
      table(m, 0, i) = static_cast<A>(frequencies.magnitude * std::cos(angle));
      table(m, 1, i) = static_cast<A>(frequencies.magnitude * std::sin(angle));
    }
}

namespace kernels {

template <class B>
struct RopeKernel : RopeKernel<typename B::fallback> {};
template <>
struct RopeKernel<backend::None> {};

/// (a, b) becomes (fma(a, c, -(b s)), fma(b, c, a s)).
template <>
struct RopeKernel<backend::ScalarCpu> {
  template <Element T>
  static void run(HostContext& ctx, TensorView<const accumulator_t<T>, 3> table,
                  RopePairing pairing, TensorView<T, 3> x) {
    using A = accumulator_t<T>;
    const index_t pairs = table.extent(2), step = pairing == RopePairing::half_split ? pairs : 1;
    parallel_for(ctx.executor(), x.extent(0), [&](index_t m, int) {
      for (index_t n = 0; n < x.extent(1); ++n)
        for (index_t i = 0; i < pairs; ++i) {
          const index_t first = pairing == RopePairing::half_split ? i : 2 * i;
          const A c = table(m, 0, i), s = table(m, 1, i);
          const A a = static_cast<A>(x(m, n, first)), b = static_cast<A>(x(m, n, first + step));
          x(m, n, first) = static_cast<T>(std::fma(a, c, -(b * s)));
          x(m, n, first + step) = static_cast<T>(std::fma(b, c, a * s));
        }
    });
  }
};

}  // namespace kernels

/// Rotates the pairs of the first r elements of every head by its row's angle, in place.
///
/// Shapes   table [M, 2, r / 2] of rope_table, x [M, N, H] with r <= H; the other elements stay as
/// they are Dtypes   table float, double for x double Throws   ShapeError
template <Backend B, Element T>
void rope(Context<B>& ctx, TensorView<const accumulator_t<T>, 3> table, RopePairing pairing,
          TensorView<T, 3> x) {
  expect_shape("rope", "table", table, {x.extent(0), 2, table.extent(2)});
  if (2 * table.extent(2) > x.extent(2))
    fail<ShapeError>("rope: rotary width is ", 2 * table.extent(2),
                     ", expected at most the head's ", x.extent(2));
  kernels::RopeKernel<B>::run(ctx, table, pairing, x);
}

}  // namespace ashlar::inline ASHLAR_ABI
