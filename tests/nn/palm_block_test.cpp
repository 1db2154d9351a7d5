// PaLM's block against its pieces in double.
#include <ashlar/simd.hpp>

#include "blocks.hpp"

namespace nn_test {
namespace {

using namespace ashlar;
using oracle::Vec;

/// x + attention(norm(x)) + ffn(norm(x)), with one key and value head.
Vec expected_block(const BlockProblem<PalmSpec>& p) {
  const Dims& d = p.c.dims;
  const index_t M = p.B * p.T, D = d.d_model, N = d.n_heads, H = d.head_dim, F = d.d_ff;
  const auto product = [&](const Vec& x, const char* name, index_t in, index_t out) {
    return oracle::linear(x, p.store.matrix(name).weight, M, in, out);
  };
  Vec x(p.x.begin(), p.x.end());
  const Vec h = oracle::layer_norm(x, M, D, double{p.c.norm.eps}, p.store.norm("mixer_norm").gain);

  const auto& position = p.c.mixer.position;
  const auto table = oracle::rope_table(position.rule.theta, position.rule.width, H);
  const bool neighbours = position.pairing == RopePairing::interleaved;
  std::vector<index_t> positions;
  for (index_t m = 0; m < M; ++m) positions.push_back(m % p.T);
  const Vec q = oracle::rope(product(h, "mixer.q", D, N * H), positions, N, H, table, neighbours);
  const Vec k = oracle::rope(product(h, "mixer.k", D, H), positions, 1, H, table, neighbours);
  oracle::AttentionOptions options;
  options.causal = true;
  // The library's default scale is rounded to float.
  options.scale = double{static_cast<float>(1 / std::sqrt(static_cast<double>(H)))};
  const Vec mixed =
      oracle::attention(q, k, product(h, "mixer.v", D, H), {p.B, p.T, p.T, N, 1, H, H}, options)
          .out;
  const Vec a = product(mixed, "mixer.o", N * H, D);
  const Vec hidden =
      oracle::gated(product(h, "ffn.gate", D, F), product(h, "ffn.up", D, F), oracle::silu);
  const Vec f = product(hidden, "ffn.down", F, D);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += a[i] + f[i];
  return x;
}

TEST(PalmBlock, IsTheSumOfItsPieces) {
  std::uint64_t salt = 200;
  for (const auto& [B, T, sizes] :
       {std::tuple{index_t{1}, index_t{1}, Sizes{{12, 3, 1, 4, 0, 7}, 4}},
        std::tuple{index_t{2}, index_t{9}, Sizes{{33, 5, 1, 6, 0, 41}, 6}},
        std::tuple{index_t{3}, index_t{70},
                   Sizes{{40, 4, 1, 10, 0, 65}, 10, RopePairing::interleaved}}}) {
    const BlockProblem<PalmSpec> p(sizes, B, T, salt++);
    const Vec expected = expected_block(p);
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd(threads(2));
    EXPECT_TRUE(support::all_close_to_largest(p.forward<double>(scalar), expected, 2e-14));
    const Floats got = p.forward(scalar);
    EXPECT_TRUE(support::all_close_to_largest(got, expected, 1.5e-6));
    EXPECT_TRUE(same(p.forward(simd), got));
    EXPECT_TRUE(same(p.in_chunks(simd, 4), got));
  }
}

}  // namespace
}  // namespace nn_test
