// A mask of your own in ten lines. Every attention function takes it as it is, on every backend,
// and skips the tiles of keys that it says nobody sees.
#include <algorithm>
#include <ashlar/ashlar.hpp>
#include <ashlar/simd.hpp>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/own_model.hpp"

using ashlar::index_t, ashlar::TileKind;

// A query sees the last `near` keys, and before them every `stride`-th one (after Child et al.
// 2019, Sparse Transformers). Positions are absolute. CausalMask shows how a mask is written that
// runs on vectors of positions too; this plain one is asked key by key.
struct Strided {
  index_t near = 4, stride = 8;

  bool keep(index_t /*sequence*/, index_t /*head*/, index_t q, index_t k) const {
    return k <= q && (q - k < near || k % stride == 0);
  }
  // What holds for all queries q0 <= q < q1 and keys k0 <= k < k1. "partial" is never wrong.
  TileKind classify(index_t, index_t, index_t, index_t q1, index_t k0, index_t) const {
    return k0 >= q1 ? TileKind::skip : TileKind::partial;
  }
};

// .. and it is part of a block's type like any other choice.
struct MySpec : ashlar::LlamaSpec {
  using Mixer = ashlar::Attention<ashlar::Rope, ashlar::NoQkNorm, Strided>;
};

int main() {
  const Strided mask;
  std::printf("rows: queries, columns: keys\n");
  for (index_t q = 0; q < 24; ++q) {
    for (index_t k = 0; k < 24; ++k) std::printf("%s", mask.keep(0, 0, q, k) ? " #" : " .");
    std::printf("\n");
  }

  // 300 tokens, 4 query heads that share 2 key heads, 32 elements a head.
  constexpr index_t B = 1, T = 300, N = 4, K = 2, H = 32;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  const auto random = [&](index_t count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x) value = normal(engine);
    return x;
  };
  const auto q = random(B * T * N * H), k = random(B * T * K * H), v = random(B * T * K * H);
  const ashlar::TensorView<const float, 4> queries(q.data(), {B, T, N, H}),
      keys(k.data(), {B, T, K, H}), values(v.data(), {B, T, K, H});

  // Masks combine: CausalMask{} & mask, or mask | SlidingWindow(16).
  const ashlar::AttentionOptions<Strided> options{.mask = mask};
  ashlar::Context<ashlar::backend::SimdCpu> ctx;
  std::vector<float> naive(q.size()), tiled(q.size()), decoded(q.size());
  const auto view = [&](std::vector<float>& x) {
    return ashlar::TensorView<float, 4>(x.data(), {B, T, N, H});
  };

  ashlar::attention_naive(ctx, queries, keys, values, view(naive), options);
  ashlar::attention(ctx, queries, keys, values, view(tiled), options);
  // One query at a time against the keys up to its own, as in text generation.
  for (index_t t = 0; t < T; ++t)
    ashlar::attention_decode(ctx, queries.slice(1, t, t + 1), keys.slice(1, 0, t + 1),
                             values.slice(1, 0, t + 1), view(decoded).slice(1, t, t + 1), options);

  float difference = 0;
  for (std::size_t i = 0; i < q.size(); ++i)
    difference = std::max(difference, std::abs(naive[i] - tiled[i]));
  const bool same = tiled == decoded;
  std::printf("\nnaive and tiled attention differ by at most %.2g\n", double{difference});
  std::printf("tiled attention and decoding give the same numbers: %s\n", same ? "yes" : "no");
  const int model = ashlar::examples::run_own_model<MySpec>("this mask", [](auto& layer) {
    layer.mixer.position.rule.width = layer.dims.head_dim;
    layer.mixer.mask.stride = 6;
  });
  // Without fused multiply-add there is no promise of bits.
  return model == 0 && (same || !ashlar::has_fma) && difference < 1e-5f ? 0 : 1;
}
