// PatchEmbedding: an image cut into squares, each a token.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/linear.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Row (b, i, j) is weight * patch + bias of the square that begins at pixel (i P, j P): the
/// convolution with stride P. Source: Dosovitskiy et al. 2020, ViT.
/// Shapes   image [B, C, H, W], weight [D, C P P] (stored [D, C, P, P]), bias [D] where the config
///          has one, y [B (H / P) (W / P), D]
/// Throws   ShapeError for an image that is not whole patches
struct PatchEmbedding {
  struct Config {
    index_t channels = 3, patch = 16;  // C, P
    bool bias = true;
  };
  struct Weights {
    WeightMatrix weight;
    VectorView<const float> bias;
  };
  static void visit(Weights& w, const Config& c, index_t width, auto&& f) {
    f("weight", w.weight, {width, c.channels * c.patch * c.patch});
    if (c.bias) f("bias", w.bias, {width});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w,
                    TensorView<const T, 4> image, MatrixView<T> y) {
    const index_t P = c.patch, batch = image.extent(0);
    expect_shape("PatchEmbedding", "image", image,
                 {batch, c.channels, round_up(image.extent(2), P), round_up(image.extent(3), P)});
    const index_t down = image.extent(2) / P, across = image.extent(3) / P;
    expect_shape("PatchEmbedding", "y", y, {batch * down * across, w.weight.rows()});
    Scratch::Frame frame(ctx.scratch());
    const auto rows = frame.tensor<T, 2>({y.extent(0), c.channels * P * P});
    parallel_for(ctx.executor(), y.extent(0), [&](index_t m, int) {
      const index_t b = m / (down * across), i = m / across % down, j = m % across;
      T* out = rows.row(m);
      for (index_t channel = 0; channel < c.channels; ++channel)
        for (index_t r = 0; r < P; ++r)
          for (index_t s = 0; s < P; ++s) *out++ = image(b, channel, i * P + r, j * P + s);
    });
    linear(ctx, MatrixView<const T>(rows), w.weight, w.bias, y);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
