// The oracles against values worked out by hand or published, and the two attention oracles against
// each other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "../support/compare.hpp"
#include "../support/random.hpp"
#include "activations.hpp"
#include "attention.hpp"
#include "attention_second.hpp"
#include "block.hpp"
#include "linear.hpp"
#include "norms.hpp"
#include "quant.hpp"
#include "rope.hpp"
#include "softmax.hpp"

namespace {

using namespace oracle;
using support::all_close;
using support::Random;

const double infinity = std::numeric_limits<double>::infinity();

/// One head of width 1, scale 1: logits chosen directly.
AttentionResult attend(const Vec& logits, const Vec& values, AttentionOptions o = {}) {
  o.scale = o.scale.value_or(1.0);
  const auto n = static_cast<Index>(logits.size());
  return attention({1}, logits, values, {1, 1, n, 1, 1, 1, 1}, o);
}

TEST(OracleAttention, EmptyRowIsZeroAndMinusInfinity) {
  AttentionOptions o;
  o.keep = [](Index, Index, Index p, Index) { return p != 1; };
  o.q_offset = {0};
  const auto r = attention({1, 1}, {1, 1}, {5, 7}, {1, 2, 2, 1, 1, 1, 1}, o);
  EXPECT_TRUE(all_close(r.out, Vec{6, 0}, 1e-15));
  EXPECT_EQ(r.lse[1], -infinity);
}

TEST(OracleAttention, HugeNegativeLogitsKeepTheirMean) {
  const auto r = attend({-1e5, -1e5}, {2, 4});
  EXPECT_DOUBLE_EQ(r.out[0], 3);
  EXPECT_NEAR(r.lse[0], -1e5 + std::log(2.0), 1e-10);
  EXPECT_DOUBLE_EQ(attend({-1e30, -1e30}, {2, 4}).out[0], 3);
}

TEST(OracleAttention, SoftcapAfterScaleAndBeforeMask) {
  AttentionOptions o;
  o.softcap = 50;
  o.scale = 1.0 / 8;
  EXPECT_NEAR(attend({400}, {1}, o).lse[0], 38.0797, 1e-4);
  o.scale = 1;
  EXPECT_DOUBLE_EQ(attend({1e30}, {1}, o).lse[0], 50);
  o.keep = [](Index, Index, Index, Index key) { return key == 0; };
  EXPECT_DOUBLE_EQ(attend({-1000, 0}, {1, 9}, o).out[0], 1);
}

TEST(OracleAttention, CausalIsBottomRight) {
  AttentionOptions o;
  o.causal = true;
  const AttentionShape wide{1, 3, 5, 1, 1, 1, 1}, tall{1, 5, 2, 1, 1, 1, 1};
  EXPECT_TRUE(
      all_close(attention(Vec(3), Vec(5), {0, 1, 2, 3, 4}, wide, o).out, Vec{1, 1.5, 2}, 1e-15));
  const auto r = attention(Vec(5), Vec(2), {4, 8}, tall, o);
  EXPECT_TRUE(all_close(r.out, Vec{0, 0, 0, 4, 6}, 1e-15));
  EXPECT_TRUE(all_close(r.lse, Vec{-infinity, -infinity, -infinity, 0, std::log(2.0)}, 1e-15));
}

TEST(OracleAttention, WindowCountsTheTokenItself) {
  for (Index w = 1; w <= 5; ++w) {
    AttentionOptions o;
    o.window = w;
    const auto r = attention(Vec(8), Vec(8), Vec(8), {1, 8, 8, 1, 1, 1, 1}, o);
    for (Index p = 0; p < 8; ++p)
      EXPECT_NEAR(std::exp(r.lse[to_size(p)]), static_cast<double>(std::min(w, p + 1)), 1e-12);
  }
}

TEST(OracleAttention, HeadsAreRepeatedNotTiled) {
  const auto r = attention(Vec(4, 1), {0, 1}, {10, 20}, {1, 1, 1, 4, 2, 1, 1});
  EXPECT_TRUE(all_close(r.out, Vec{10, 10, 20, 20}, 0));
  EXPECT_TRUE(all_close(r.lse, Vec{0, 0, 1, 1}, 1e-15));
}

TEST(OracleAttention, SinkJoinsTheDenominatorOnce) {
  AttentionOptions o;
  o.sinks = {0};
  const auto r = attend({0, 0}, {3, 6}, o);
  EXPECT_NEAR(r.out[0], 3, 1e-15);
  EXPECT_NEAR(r.lse[0], 1.0986123, 1e-7);
  o.sinks = {100};
  EXPECT_NEAR(attend({0}, {1}, o).out[0], 3.7e-44, 1e-45);
  o.sinks = {0.5};
  o.keep = [](Index, Index, Index, Index) { return false; };
  const auto empty = attend({0}, {1}, o);
  EXPECT_EQ(empty.out[0], 0);
  EXPECT_DOUBLE_EQ(empty.lse[0], 0.5);
}

TEST(OracleAttention, HiddenKeysAndValuesAreNeverRead) {
  AttentionOptions o;
  o.kv_lengths = {2};
  const Vec k{1, 2, std::nan(""), infinity}, v{3, 4, infinity, std::nan("")};
  const AttentionShape s{1, 1, 4, 1, 1, 1, 1};
  for (const auto& r : {attention({1}, k, v, s, o), attention_second({1}, k, v, s, o)})
    EXPECT_TRUE(all_close(r.out, attention({1}, {1, 2}, {3, 4}, {1, 1, 2, 1, 1, 1, 1}).out, 1e-15));
}

TEST(OracleAttention, MagnitudeBoundsTheOutput) {
  const auto r = attend({1, 1}, {-3, 3});
  EXPECT_NEAR(r.out[0], 0, 1e-15);
  EXPECT_NEAR(r.magnitude[0], 3, 1e-15);
  EXPECT_NEAR(attend({-2, 1}, {0, 0}).score_sum[0], 2, 1e-15);
}

TEST(OracleAttention, AlibiSlopes) {
  EXPECT_TRUE(
      all_close(alibi_slopes(6), Vec{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125}, 1e-15));
  const Vec twelve = alibi_slopes(12);
  EXPECT_DOUBLE_EQ(twelve[0], 0.5);
  EXPECT_DOUBLE_EQ(twelve[7], 0.00390625);
  EXPECT_NEAR(twelve[8], 0.707107, 1e-6);
  EXPECT_NEAR(twelve[11], 0.0883883, 1e-7);
}

TEST(OracleAttention, T5Buckets) {
  const Index distances[] = {7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 1000};
  const Index both[] = {7, 8, 9, 10, 11, 12, 13, 14, 15, 15, 15};
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_EQ(t5_bucket(-distances[i], true, 32, 128), both[i]) << distances[i];
    EXPECT_EQ(t5_bucket(distances[i], true, 32, 128), both[i] + 16) << distances[i];
    EXPECT_EQ(t5_bucket(distances[i], false, 32, 128), 0);
  }
  const Index past[] = {15, 16, 32, 64, 127}, causal[] = {15, 16, 21, 26, 31};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(t5_bucket(-past[i], false, 32, 128), causal[i]);
}

/// A random case of every option.
AttentionOptions random_options(Random& random, const AttentionShape& s) {
  AttentionOptions o;
  if (random.chance(0.4)) o.scale = random.uniform(0.05, 2);
  if (random.chance(0.3)) o.softcap = random.uniform(0.5, 30);
  o.causal = random.chance(0.5);
  if (random.chance(0.3)) o.window = random.integer(1, s.S + 1);
  if (random.chance(0.2)) o.prefix = random.integer(0, s.S);
  if (random.chance(0.3)) {
    for (Index b = 0; b < s.B; ++b) o.kv_lengths.push_back(random.integer(0, s.S));
  }
  if (random.chance(0.3)) {
    for (Index b = 0; b < s.B; ++b) o.q_lengths.push_back(random.integer(0, s.T));
  }
  if (random.chance(0.3)) {
    for (Index b = 0; b < s.B; ++b) o.q_offset.push_back(random.integer(-2, s.S));
  }
  if (random.chance(0.2)) {
    for (Index i = 0; i < s.S; ++i) o.documents.push_back(i / 3);
  }
  if (random.chance(0.2)) {
    o.block_size = random.integer(1, 5);
    o.blocks.resize(to_size((s.S + s.T) / o.block_size + 3));
    for (auto& row : o.blocks) {
      for (Index j = 0; j <= s.S / o.block_size; ++j) row.push_back(random.chance(0.6));
    }
  }
  if (random.chance(0.2))
    o.keep = [](Index b, Index h, Index p, Index key) {
      return (b + 3 * h + 5 * p + 7 * key) % 4 != 0;
    };
  if (random.chance(0.3)) {
    o.alibi_slopes = alibi_slopes(s.N, random.chance(0.5));
    o.alibi_from_origin = random.chance(0.5);
  }
  if (random.chance(0.2))
    o.bias = [](Index b, Index h, Index p, Index key) {
      return std::sin(static_cast<double>(b + h + 2 * p - key));
    };
  if (random.chance(0.3)) o.sinks = random.normals<double>(s.N, 2);
  return o;
}

TEST(OracleAttention, TwoOraclesAgree) {
  Random random(1);
  SCOPED_TRACE(random.seed());
  std::set<bool> empty_rows;
  for (int round = 0; round < 1000; ++round) {
    AttentionShape s;
    s.B = random.integer(1, 3);
    s.T = random.integer(1, 9);
    s.S = random.integer(1, 40);
    s.K = random.integer(1, 3);
    s.N = s.K * random.integer(1, 3);
    s.H = random.integer(1, 12);
    s.Hv = random.integer(1, 12);
    const AttentionOptions o = random_options(random, s);
    const double gain = random.chance(0.2) ? 10 : 1;
    const Vec q = random.normals<double>(s.B * s.T * s.N * s.H, gain);
    const Vec k = random.normals<double>(s.B * s.S * s.K * s.H);
    const Vec v = random.normals<double>(s.B * s.S * s.K * s.Hv);
    const auto a = attention(q, k, v, s, o), b = attention_second(q, k, v, s, o);
    ASSERT_TRUE(all_close(a.out, b.out, 1e-13 * (1 + support::max_magnitude(b.out))))
        << "round " << round;
    ASSERT_TRUE(all_close(a.lse, b.lse, 1e-13 * (1 + support::max_magnitude(b.lse))))
        << "round " << round;
    for (const double lse : a.lse) empty_rows.insert(std::isinf(lse));
  }
  EXPECT_EQ(empty_rows.size(), 2u) << "the cases should hold empty and other rows";
}

TEST(OracleNorms, OffsetRows) {
  const Vec expected{-1.3416354, -0.4472118, 0.4472118, 1.3416354};
  EXPECT_TRUE(all_close(layer_norm({40000, 40001, 40002, 40003}, 1, 4, 1e-5), expected, 1e-7));
  EXPECT_TRUE(all_close(layer_norm(Vec(256, 1234), 1, 256, 1e-5), Vec(256, 0), 1e-12));
  EXPECT_TRUE(all_close(layer_norm({1, 3}, 1, 2, 0, {1, 1}, {5, 6}, true), Vec{3, 8}, 1e-15));
}

TEST(OracleNorms, RootMeanSquare) {
  EXPECT_TRUE(
      all_close(rms_norm({3, 4}, 1, 2, 0), Vec{3 / std::sqrt(12.5), 4 / std::sqrt(12.5)}, 1e-15));
  EXPECT_TRUE(all_close(rms_norm({1, -1}, 1, 2, 3, {2, 4}), Vec{1, -2}, 1e-15));
  EXPECT_TRUE(all_close(rms_norm({1, -1}, 1, 2, 3, {1, 3}, true), Vec{1, -2}, 1e-15));
}

TEST(OracleRope, Pairing) {
  const Vec x{1, 0, 0, 0};
  const RopeTable t = rope_table(1e4, 4, 4);
  EXPECT_TRUE(all_close(rope(x, {1}, 1, 4, t), Vec{0.540302, 0, 0.841471, 0}, 1e-6));
  EXPECT_TRUE(all_close(rope(x, {1}, 1, 4, t, true), Vec{0.540302, 0.841471, 0, 0}, 1e-6));
  const Vec partial = rope(Vec(8, 1), {1}, 1, 8, rope_table(1e4, 4, 8));
  EXPECT_NEAR(partial[0], std::cos(1.0) - std::sin(1.0), 1e-15);
  EXPECT_NEAR(partial[1], std::cos(0.01) - std::sin(0.01), 1e-15);
  EXPECT_EQ(partial[4], 1.0);
}

TEST(OracleRope, ScalingRules) {
  RopeScaling s;
  s.kind = Scaling::llama3;
  s.factor = 8;
  s.original = 8192;
  const Vec plain = rope_table(5e5, 128, 128).inverse_frequencies;
  const Vec scaled = rope_table(5e5, 128, 128, s).inverse_frequencies;
  const Vec middle{0.828168, 0.643743, 0.493507, 0.371122, 0.271425, 0.190211};
  for (std::size_t i = 0; i < 64; ++i) {
    const double ratio = scaled[i] / plain[i];
    EXPECT_NEAR(ratio, i < 29 ? 1.0 : i < 35 ? middle[i - 29] : 0.125, 1e-6) << i;
  }
  s = {};
  s.kind = Scaling::dynamic;
  s.factor = 2;
  s.original = 4096;
  s.length = 8192;
  EXPECT_NEAR(std::pow(rope_table(1e4, 128, 128, s).inverse_frequencies[1], -64.0), 30527.74, 0.01);
  s.length = 4096;
  EXPECT_NEAR(std::pow(rope_table(1e4, 128, 128, s).inverse_frequencies[1], -64.0), 1e4, 1e-6);
  s = {};
  s.kind = Scaling::proportional;
  s.fraction = 0.5;
  const Vec p = rope_table(1e4, 8, 8, s).inverse_frequencies;
  EXPECT_TRUE(all_close(p, Vec{1, 0.1, 0, 0}, 1e-15));
}

TEST(OracleActivations, PublishedValues) {
  EXPECT_NEAR(gelu_erf(1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(gelu_erf(-1), -0.15865525393145705, 1e-15);
  EXPECT_GT(0, gelu_erf(-30));  // no cancellation in the tail
  EXPECT_NEAR(gelu_tanh(1), 0.8411919906082768, 1e-12);
  EXPECT_NEAR(silu(1), 0.7310585786300049, 1e-15);
  EXPECT_EQ(silu(-1e30), 0);
  EXPECT_NEAR(softplus(0), std::log(2.0), 1e-15);
  EXPECT_EQ(softplus(1e30), 1e30);
  EXPECT_EQ(relu_squared(-3), 0);
  EXPECT_EQ(relu_squared(3), 9);
}

TEST(OracleSoftmax, Guards) {
  const Vec none{-infinity, -infinity}, half{-infinity, 0};
  EXPECT_EQ(log_sum_exp(none.data(), 2), -infinity);
  EXPECT_EQ(log_sum_exp(half.data(), 2), 0);
  EXPECT_EQ(log_sum_exp(nullptr, 0), -infinity);
  EXPECT_TRUE(all_close(softmax({-infinity, 0, 0, 0}, 2, 2), Vec{0, 1, 0.5, 0.5}, 0));
}

TEST(OracleLinear, SmallProduct) {
  EXPECT_TRUE(all_close(linear({1, 2, 3}, {1, 0, -1, 2, 2, 2}, 1, 3, 2, {10, 20}), Vec{8, 32}, 0));
  EXPECT_TRUE(all_close(transposed({1, 2, 3, 4, 5, 6}, 2, 3), Vec{1, 4, 2, 5, 3, 6}, 0));
}

TEST(OracleQuant, BlocksWorkedOutByHand) {
  EXPECT_EQ(half_value(0x3c00), 1.0);
  EXPECT_EQ(half_value(0xc000), -2.0);
  EXPECT_EQ(half_value(0x0001), 0x1p-24);
  EXPECT_EQ(half_value(0xfbff), -65504.0);
  EXPECT_EQ(bfloat16_value(0x3f80), 1.0);
  EXPECT_EQ(bfloat16_value(0xc040), -3.0);
  std::vector<std::uint8_t> block(18, 0);
  block[1] = 0x40;  // d = 2
  block[2] = 0x9f;  // element 0: 15, element 16: 9
  EXPECT_EQ(block_value("Q4_0", block.data(), 0), 14);
  EXPECT_EQ(block_value("Q4_0", block.data(), 16), 2);
  EXPECT_EQ(block_value("Q4_0", block.data(), 1), -16);
  std::vector<std::uint8_t> q8(34, 0);
  q8[1] = 0x3c;
  q8[2] = 0x80;
  q8[33] = 127;
  EXPECT_EQ(block_value("Q8_0", q8.data(), 0), -128);
  EXPECT_EQ(block_value("Q8_0", q8.data(), 31), 127);
  std::vector<std::uint8_t> q5(24, 0);
  q5[1] = 0x3c;   // d = 1
  q5[3] = 0x38;   // m = 0.5
  q5[4 + 2] = 2;  // bit 17
  q5[8 + 1] = 0x30;
  EXPECT_EQ(block_value("Q5_1", q5.data(), 17), 19.5);
  EXPECT_EQ(block_value("Q5_0", q5.data() + 2, 17), 0.5 * (3 + 16 - 16));
  std::vector<std::uint8_t> q4k(144, 0);
  q4k[1] = 0x3c;          // d = 1
  q4k[3] = 0x3c;          // dmin = 1
  q4k[4 + 8 + 1] = 0x53;  // group 5: scale low 3, minimum low 5
  q4k[4 + 1] = 0x40;      // its scale high bits 1
  q4k[4 + 5] = 0x80;      // its minimum high bits 2
  q4k[16 + 64 + 7] = 0xa0;
  EXPECT_EQ(block_value("Q4_K", q4k.data(), 5 * 32 + 7), (3 + 16) * 10 - (5 + 32));
  std::vector<std::uint8_t> q6k(210, 0);
  q6k[209] = 0x3c;
  q6k[192 + 8 + 4 + 1] = 0xff;  // elements 128 + 64 + 16 ..: scale -1
  q6k[64 + 20] = 0x70;
  q6k[128 + 32 + 20] = 0x30;
  EXPECT_EQ(block_value("Q6_K", q6k.data(), 128 + 64 + 20), -(7 + 48 - 32));
}

TEST(OracleBlock, ResidualStreamWithZeroBranchesIsUnchanged) {
  Random random(3);
  BlockConfig c;
  c.D = 6;
  c.N = 2;
  c.K = 1;
  c.H = 4;
  c.F = 5;
  c.rope = rope_table(1e4, 4, 4);
  c.attention.causal = true;
  BlockWeights w;
  w.attention_norm.gain = w.ffn_norm.gain = Vec(6, 1);
  w.q.weight = random.normals<double>(8 * 6);
  w.k.weight = w.v.weight = random.normals<double>(4 * 6);
  w.o.weight = random.normals<double>(6 * 8);
  w.gate.weight = w.up.weight = random.normals<double>(5 * 6);
  w.down.weight = random.normals<double>(6 * 5);
  const Vec x = random.normals<double>(2 * 3 * 6);
  const Vec y = decoder_block(x, 2, 3, c, w);
  EXPECT_FALSE(all_close(y, x, 1e-3));
  w.attention_scale = w.ffn_scale = Vec(6, 0);
  EXPECT_TRUE(all_close(decoder_block(x, 2, 3, c, w), x, 0));
}

}  // namespace
