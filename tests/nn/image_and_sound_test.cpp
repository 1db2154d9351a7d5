// Patches of images, convolutions over time, and pooling of rows.
#include <gtest/gtest.h>

#include <ashlar/nn/embedding/conv1d.hpp>
#include <ashlar/nn/embedding/patches.hpp>
#include <ashlar/nn/head/pooling.hpp>
#include <ashlar/nn/head/projection.hpp>
#include <ashlar/simd.hpp>
#include <vector>

#include "support/compare.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;
using Floats = std::vector<float>;
using Ctx = Context<backend::SimdCpu>;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

TEST(PatchEmbedding, IsTheConvolutionWithAStrideOfItsWidth) {
  const index_t B = 2, C = 3, P = 3, down = 2, across = 4, D = 5, H = down * P, W = across * P;
  support::Random random(1);
  const Floats image = random.normals<float>(B * C * H * W), bias = random.normals<float>(D);
  Floats weight = random.normals<float>(D * C * P * P);
  PatchEmbedding::Weights w{MatrixView<float>(weight.data(), {D, C * P * P}),
                            VectorView<const float>(bias.data(), {D})};
  const PatchEmbedding::Config c{.channels = C, .patch = P};
  Ctx ctx;
  Floats y(at(B * down * across * D), NAN);
  const TensorView<const float, 4> pixels(image.data(), {B, C, H, W});
  PatchEmbedding::apply(ctx, c, w, pixels, MatrixView<float>(y.data(), {B * down * across, D}));
  std::vector<double> want;
  for (index_t b = 0; b < B; ++b)
    for (index_t i = 0; i < down; ++i)
      for (index_t j = 0; j < across; ++j)
        for (index_t n = 0; n < D; ++n) {
          double sum = bias[at(n)];
          for (index_t ch = 0; ch < C; ++ch)
            for (index_t r = 0; r < P; ++r)
              for (index_t s = 0; s < P; ++s)
                sum += double{weight[at(((n * C + ch) * P + r) * P + s)]} *
                       double{image[at(((b * C + ch) * H + i * P + r) * W + j * P + s)]};
          want.push_back(sum);
        }
  EXPECT_TRUE(support::all_close_to_largest(y, want, 1e-6));
  EXPECT_THROW(PatchEmbedding::apply(ctx, c, w, pixels.slice(3, 0, W - 1),
                                     MatrixView<float>(y.data(), {B * down * across, D})),
               ShapeError);
}

TEST(Conv1d, EqualsItsDefinition) {
  const index_t B = 2, S = 11, C = 3, N = 4;
  support::Random random(2);
  const Floats x = random.normals<float>(B * S * C), bias = random.normals<float>(N);
  for (const auto& [width, stride, padding] :
       {std::array<index_t, 3>{3, 1, 1}, {3, 2, 1}, {5, 3, 2}, {2, 1, 0}, {1, 1, 0}}) {
    Floats weight = random.normals<float>(N * C * width);
    const Conv1d::Config c{C, N, width, stride, padding};
    const index_t T = c.tokens(S);
    const Conv1d::Weights w{MatrixView<float>(weight.data(), {N, C * width}),
                            VectorView<const float>(bias.data(), {N})};
    Ctx ctx;
    Floats y(at(B * T * N), NAN);
    Conv1d::apply(ctx, c, w, B, MatrixView<const float>(x.data(), {B * S, C}),
                  MatrixView<float>(y.data(), {B * T, N}));
    std::vector<double> want;
    for (index_t b = 0; b < B; ++b)
      for (index_t first = -padding; first + width <= S + padding; first += stride)
        for (index_t n = 0; n < N; ++n) {
          double sum = bias[at(n)];
          for (index_t k = 0; k < width; ++k)
            for (index_t i = 0; i < C; ++i)
              if (first + k >= 0 && first + k < S)
                sum += double{weight[at((n * C + i) * width + k)]} *
                       double{x[at((b * S + first + k) * C + i)]};
          want.push_back(sum);
        }
    EXPECT_TRUE(support::all_close_to_largest(y, want, 1e-6)) << width << " " << stride;
  }
}

TEST(Pooling, MeansOfTrueTokensAndFirstRows) {
  const index_t B = 3, T = 5, D = 7;
  const std::vector<index_t> lengths{5, 2, 0};
  Floats x = support::Random(3).normals<float>(B * T * D, 1, 3);
  for (index_t i = (T + 2) * D; i < 2 * T * D; ++i) x[at(i)] = NAN;  // padding of sequence 1
  TokenBatch batch(B, T);
  batch.set_lengths({lengths.data(), {B}});
  Ctx ctx;
  const MatrixView<const float> rows(x.data(), {B * T, D});
  Floats y(at(B * D), NAN);
  mean_pool(ctx, batch, rows, MatrixView<float>(y.data(), {B, D}));
  for (index_t b = 0; b < B; ++b)
    for (index_t i = 0; i < D; ++i) {
      double sum = 0;
      for (index_t t = 0; t < lengths[at(b)]; ++t) sum += x[at((b * T + t) * D + i)];
      const double n = lengths[at(b)] ? static_cast<double>(lengths[at(b)]) : 1;
      EXPECT_NEAR(y[at(b * D + i)], sum / n, 1e-6) << b << " " << i;
    }
  Floats largest(at(B * D), NAN);
  max_pool(ctx, batch, rows, MatrixView<float>(largest.data(), {B, D}));
  for (index_t i = 0; i < D; ++i) {
    const auto state = [&](index_t b, index_t t) { return x[at((b * T + t) * D + i)]; };
    EXPECT_EQ(largest[at(i)],
              std::max({state(0, 0), state(0, 1), state(0, 2), state(0, 3), state(0, 4)}));
    EXPECT_EQ(largest[at(D + i)], std::max(state(1, 0), state(1, 1)));
    EXPECT_EQ(largest[at(2 * D + i)], 0.f);
  }
  unit_length(ctx, MatrixView<float>(y.data(), {B, D}));
  for (index_t b = 0; b < B; ++b) {
    double sum = 0;
    for (index_t i = 0; i < D; ++i) sum += double{y[at(b * D + i)]} * double{y[at(b * D + i)]};
    EXPECT_NEAR(sum, lengths[at(b)] ? 1.0 : 0.0, 1e-6) << b;
  }
  const auto first = first_rows(batch, rows);
  for (index_t b = 0; b < 2; ++b) EXPECT_EQ(first(b, 3), x[at(b * T * D + 3)]);
  EXPECT_THROW(first_rows(TokenBatch(B, 0), MatrixView<const float>(x.data(), {0, D})), ShapeError);
}

TEST(Heads, PoolerIsTheHyperbolicTangentOfAProduct) {
  const index_t M = 2, D = 9;
  support::Random random(4);
  const Floats x = random.normals<float>(M * D), bias = random.normals<float>(D);
  Floats weight = random.normals<float>(D * D), y(at(M * D), NAN);
  Ctx ctx;
  Pooler::apply(
      ctx, {true},
      {MatrixView<float>(weight.data(), {D, D}), VectorView<const float>(bias.data(), {D})},
      MatrixView<const float>(x.data(), {M, D}), MatrixView<float>(y.data(), {M, D}));
  for (index_t m = 0; m < M; ++m)
    for (index_t n = 0; n < D; ++n) {
      double sum = bias[at(n)];
      for (index_t i = 0; i < D; ++i)
        sum += double{weight[at(n * D + i)]} * double{x[at(m * D + i)]};
      EXPECT_NEAR(y[at(m * D + n)], std::tanh(sum), 2e-6);
    }
}

}  // namespace
