// Attention of every kernel against the formula in double.
#include <gtest/gtest.h>

#include <ashlar/attention/mask/local_window.hpp>
#include <ashlar/attention/score/scaled_alibi.hpp>
#include <ashlar/attention/score/t5_bias.hpp>

#include "attention/problem.hpp"
#include "oracle/attention.hpp"

namespace attention_test {
namespace {

using namespace ashlar;

constexpr double unit = 0x1p-24;

/// |error| <= (32 + 8 A + 2 sqrt(S)) u sum p |v|, A the largest scale * sum |q k| of a row.
void check(Problem& p, const Result& got, const oracle::AttentionResult& expected,
           const char* what) {
  SCOPED_TRACE(what);
  std::vector<double> out(expected.out.size()), lse(expected.lse.size());
  for (index_t b = 0; b < p.s.B; ++b)
    for (index_t n = 0; n < p.s.N; ++n)
      for (index_t t = 0; t < p.s.T; ++t) {
        const auto row = static_cast<std::size_t>((b * p.s.N + n) * p.s.T + t);
        const double a = expected.score_sum[row];
        lse[row] = 4 * unit * (std::max(1.0, std::abs(expected.lse[row])) + a);
        if (std::isinf(expected.lse[row])) lse[row] = 0;
        for (index_t d = 0; d < p.s.Hv; ++d) {
          const auto i = static_cast<std::size_t>(((b * p.s.T + t) * p.s.N + n) * p.s.Hv + d);
          out[i] = (32 + 8 * a + 2 * std::sqrt(static_cast<double>(p.s.S))) * unit *
                   expected.magnitude[i];
        }
      }
  EXPECT_TRUE(support::all_within(got.out, expected.out, out));
  EXPECT_TRUE(support::all_within(got.lse, expected.lse, lse)) << "lse";
  EXPECT_LE(support::normalised_square_error(got.out, expected.out), 1e-12);
}

template <class Mask, class Score>
void check_all(Problem& p, Mask mask, Score score, oracle::AttentionOptions o) {
  o.q_offset.assign(p.q_offset.begin(), p.q_offset.end());
  o.q_lengths.assign(p.q_lengths.begin(), p.q_lengths.end());
  o.kv_lengths.assign(p.kv_lengths.begin(), p.kv_lengths.end());
  o.sinks.assign(p.sinks.begin(), p.sinks.end());
  if (p.scale != 0 && !o.scale) o.scale = static_cast<double>(p.scale);
  const auto doubles = [](Problem::Tensor& t) { return t.values<oracle::Vec>(); };
  const auto expected = oracle::attention(doubles(p.q), doubles(p.k), doubles(p.v),
                                          {p.s.B, p.s.T, p.s.S, p.s.N, p.s.K, p.s.H, p.s.Hv}, o);
  const auto options = p.options(mask, score);
  Context<backend::ScalarCpu> scalar;
  Context<backend::SimdCpu> simd(threads(2));
  const auto tiles = p.cache<float>();
  const auto halves = p.cache<half>();
  check(p, p.attend(scalar, options), expected, "scalar");
  check(p, p.naive(scalar, options), expected, "scalar naive");
  check(p, p.attend(simd, options), expected, "rows");
  check(p, p.attend(simd, *tiles, options), expected, "tiles");
  check(p, p.attend(simd, *halves, options), expected, "half");
  check(p, p.decode(simd, options), expected, "decode");
  check(p, p.naive(simd, options), expected, "naive");
}

TEST(AttentionValues, NoMask) {
  support::Random random(1);
  for (const index_t T : {1, 65})
    for (const index_t S : {1, 63, 130, 700}) {
      Problem p({2, T, S, 2, 1, 16, 9}, 3, random);
      check_all(p, NoMask{}, NoScore{}, {});
    }
}
TEST(AttentionValues, Causal) {
  support::Random random(2);
  oracle::AttentionOptions causal;
  causal.causal = true;
  for (const index_t S : {5, 128, 300}) {
    Problem p({1, 70, S, 4, 2, 64, 64}, 0, random);
    p.sinks = random.normals<float>(4, 2);
    check_all(p, CausalMask{}, NoScore{}, causal);
  }
}
TEST(AttentionValues, RaggedWindowSoftcap) {
  support::Random random(3);
  for (int i = 0; i < 6; ++i) {
    Problem p({3, 40, 100, 2, 2, 8, 12}, 5, random);
    p.q_lengths = {random.integer(0, 40), random.integer(0, 40), 40};
    p.kv_lengths = {random.integer(0, 100), 0, random.integer(0, 100)};
    oracle::AttentionOptions o;
    o.softcap = 2;
    o.window = 17;
    check_all(p, SlidingWindow(17), SoftCap(2.f), o);
  }
}
TEST(AttentionValues, AlibiAfterSoftcap) {
  support::Random random(4);
  Problem p({1, 33, 270, 6, 3, 20, 20}, 1, random);
  p.q_offset = {237};
  const Floats slopes = alibi_slopes(6);
  oracle::AttentionOptions o;
  o.softcap = 4;
  o.causal = true;
  o.alibi_slopes = oracle::alibi_slopes(6);
  check_all(p, CausalMask{}, SoftCap(4.f) >> Alibi(VectorView<const float>(slopes.data(), {6})), o);
}
TEST(AttentionValues, LocalWindowWithBucketedBias) {
  support::Random random(6);
  Problem p({2, 150, 150, 3, 3, 12, 12}, 1, random);
  p.scale = 1;
  p.q_lengths = p.kv_lengths = {150, 97};
  p.q_offset = {0, 0};
  const T5Buckets buckets(16, 40, true);
  const Floats table = random.normals<float>(16 * 3, 2);
  oracle::AttentionOptions o;
  o.keep = [](index_t, index_t, index_t q, index_t k) { return std::abs(q - k) <= 70; };
  o.bias = [&](index_t, index_t h, index_t q, index_t k) {
    return static_cast<double>(
        table[static_cast<std::size_t>(oracle::t5_bucket(k - q, true, 16, 40) * 3 + h)]);
  };
  check_all(p, LocalWindow(70),
            T5RelativeBias(buckets, MatrixView<const float>(table.data(), {16, 3})), o);
}
/// Slopes and positions that bfloat16 holds, so that the oracle rounds the product alone.
TEST(AttentionValues, ScaledAlibi) {
  support::Random random(7);
  Problem p({1, 20, 150, 3, 1, 10, 10}, 1, random);
  p.scale = 1;
  p.q_offset = {130};
  const Floats slopes = {0.70703125f, 0.25f, 0.01104736328125f};
  oracle::AttentionOptions o;
  o.causal = true;
  o.bias = [&](index_t, index_t h, index_t, index_t k) {
    int exponent;
    const double product = double{slopes[static_cast<std::size_t>(h)]} * static_cast<double>(k);
    const double digits = std::frexp(product, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(digits, 8)), exponent - 8) * 0.25;
  };
  o.scale = 0.25;  // the functor's: attention's own is 1
  check_all(p, CausalMask{}, ScaledAlibi(VectorView<const float>(slopes.data(), {3}), 0.25f), o);
}
TEST(AttentionValues, UserMask) {
  support::Random random(5);
  Problem p({2, 50, 150, 2, 1, 10, 10}, 1, random);
  oracle::AttentionOptions o;
  o.keep = [](index_t b, index_t h, index_t q, index_t k) { return Holes{}.keep(b, h, q, k); };
  check_all(p, Holes{}, NoScore{}, o);
}

}  // namespace
}  // namespace attention_test
