// SinusoidalPosition: sines and cosines of the position, added to the embeddings.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/residual_add.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

/// Where the sine and cosine of frequency i of n = D / 2 stand: neighbours at 2 i and 2 i + 1
/// (Vaswani et al. 2017), halves at i and n + i (tensor2tensor; Whisper, Marian).
enum class SinusoidLayout { neighbours, halves };

/// x[m] += (sin, cos)(p base^(-i / n)), p = position[m] + offset. Angles are formed in double, so
/// that they are right at any position. Source: Vaswani et al. 2017.
/// Shapes   x [M, D]
/// Throws   ValueError for an odd D or a base that is not above 0
struct SinusoidalPosition {
  struct Config {
    SinusoidLayout layout = SinusoidLayout::neighbours;
    bool reach_base = false;  // base^(-i / (n - 1)): the last wave is base itself (Whisper)
    double base = 10000;
    index_t offset = 0;
  };
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights&, const TokenBatch& batch,
                    MatrixView<T> x) {
    const index_t M = batch.rows(), D = x.extent(1), n = D / 2;
    if (D % 2 != 0)
      fail<ValueError>("SinusoidalPosition: width is ", D, ", expected an even number");
    if (!(c.base > 0))
      fail<ValueError>("SinusoidalPosition: base is ", c.base, ", expected above 0");
    Scratch::Frame frame(ctx.scratch());
    double* frequency = frame.get<double>(n);
    const auto steps = static_cast<double>(c.reach_base ? max_index(n - 1, 1) : n);
    for (index_t i = 0; i < n; ++i)
      frequency[i] = std::pow(c.base, static_cast<double>(-i) / steps);
    const bool halves = c.layout == SinusoidLayout::halves;
    const auto table = frame.tensor<T, 2>({M, D});
    for (index_t m = 0; m < M; ++m) {
      const auto position = static_cast<double>(batch.positions()(m) + c.offset);
      for (index_t i = 0; i < n; ++i) {
        const double angle = position * frequency[i];
        table(m, halves ? i : 2 * i) =
            static_cast<T>(static_cast<accumulator_t<T>>(std::sin(angle)));
        table(m, halves ? n + i : 2 * i + 1) =
            static_cast<T>(static_cast<accumulator_t<T>>(std::cos(angle)));
      }
    }
    residual_add(ctx, MatrixView<const T>(table), {}, x);
  }
};
static_assert(InputPositionPolicy<SinusoidalPosition>);

}  // namespace ashlar::inline ASHLAR_ABI
