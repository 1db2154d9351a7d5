// Sinusoidal positions against the formula, and against values by hand.
#include <gtest/gtest.h>

#include <ashlar/nn/position/sinusoidal.hpp>
#include <ashlar/simd.hpp>
#include <cmath>

#include "support/compare.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;
using Config = SinusoidalPosition::Config;
using Floats = std::vector<float>;

/// What is added to x [M, D], whose rows lie 3 elements apart.
template <class T>
std::vector<T> added(const Config& config, const TokenBatch& batch, index_t D, const Floats& x) {
  const index_t M = batch.rows();
  std::vector<T> memory(static_cast<std::size_t>(M * (D + 3)), T(-7.f)), y;
  const MatrixView<T> view(memory.data(), {M, D}, {D + 3, 1});
  for (index_t m = 0; m < M; ++m)
    for (index_t d = 0; d < D; ++d) view(m, d) = T(x[static_cast<std::size_t>(m * D + d)]);
  Context<backend::SimdCpu> ctx;
  SinusoidalPosition::apply(ctx, config, {}, batch, view);
  for (index_t m = 0; m < M; ++m) {
    for (index_t d = 0; d < D; ++d) y.push_back(view(m, d));
    for (index_t d = D; d < D + 3; ++d)
      EXPECT_EQ(memory[static_cast<std::size_t>(m * (D + 3) + d)], T(-7.f));
  }
  return y;
}

TEST(SinusoidalPosition, ByHand) {
  const Floats zero(4 * 4);
  const TokenBatch batch(2, 2, 3);  // positions 3, 4 and 3, 4
  // Frequencies 1 and 1/100; sin 3, cos 3, sin .03, cos .03, ..
  const Floats rows = {0.14112000806f,  -0.98999249660f, 0.02999550020f, 0.99955003375f,
                       -0.75680249531f, -0.65364362086f, 0.03998933419f, 0.99920010666f};
  Floats expected = rows;
  expected.insert(expected.end(), rows.begin(), rows.end());
  EXPECT_TRUE(support::all_close(added<float>({}, batch, 4, zero), expected, 1e-7));
  const Floats halves =
      added<float>({.layout = SinusoidLayout::halves}, TokenBatch(1, 1, 3), 4, Floats(4));
  EXPECT_TRUE(support::all_close(halves, Floats{rows[0], rows[2], rows[1], rows[3]}, 1e-7));
  // Whisper: frequencies 1 and 1 / base itself.
  const Floats whisper =
      added<float>({.layout = SinusoidLayout::halves, .reach_base = true, .base = 100},
                   TokenBatch(1, 1, 1), 4, Floats(4));
  EXPECT_TRUE(support::all_close(
      whisper, Floats{0.84147098481f, 0.00999983333f, 0.54030230587f, 0.99995000042f}, 1e-7));
}

/// Each element by the formula in long double, at positions where float angles are far off.
TEST(SinusoidalPosition, AgreesWithTheFormula) {
  support::Random random(1);
  for (const index_t D : {2, 6, 34, 512})
    for (const bool halves : {false, true})
      for (const bool reach : {false, true})
        for (const index_t first : {index_t{0}, index_t{1000000}}) {
          const Config config{
              .layout = halves ? SinusoidLayout::halves : SinusoidLayout::neighbours,
              .reach_base = reach,
              .base = 7000,
              .offset = 2};
          const TokenBatch batch(2, 3, first);
          const Floats x = random.normals<float>(6 * D, 3);
          const index_t n = D / 2;
          std::vector<double> expected;
          for (index_t m = 0; m < 6; ++m)
            for (index_t d = 0; d < D; ++d) {
              const index_t i = halves ? d % n : d / 2;
              const bool sine = halves ? d < n : d % 2 == 0;
              const auto steps = static_cast<long double>(reach && n > 1 ? n - 1 : n);
              const long double angle =
                  static_cast<long double>(first + m % 3 + 2) *
                  std::exp(-std::log(7000.0L) * static_cast<long double>(i) / steps);
              expected.push_back(static_cast<double>(x[static_cast<std::size_t>(m * D + d)]) +
                                 static_cast<double>(sine ? std::sin(angle) : std::cos(angle)));
            }
          EXPECT_TRUE(support::all_close(added<float>(config, batch, D, x), expected, 1e-6)) << D;
          EXPECT_TRUE(support::all_close(added<double>(config, batch, D, x), expected, 1e-9)) << D;
        }
}

TEST(SinusoidalPosition, RefusesWhatDoesNotFit) {
  const TokenBatch batch(1, 1);
  EXPECT_THROW(added<float>({}, batch, 5, Floats(5)), ValueError);
  EXPECT_THROW(added<float>({.base = 0}, batch, 4, Floats(4)), ValueError);
}

}  // namespace
