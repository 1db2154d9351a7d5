// The contracts of docs/contracts.md, one small test each, with values known by hand.
#include <gtest/gtest.h>

#include <ashlar/ashlar.hpp>
#include <ashlar/simd.hpp>
#include <ashlar/weights/safetensors.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "support/compare.hpp"
#include "support/message.hpp"

namespace contracts_test {
namespace {

using namespace ashlar;
using support::message_of;
using Floats = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// A problem in contiguous memory: q [B, T, N, H], k [B, S, K, H], v [B, S, K, Hv].
struct Problem {
  index_t B = 1, T = 1, S = 1, N = 1, K = 1, H = 1, Hv = 1;
  Floats q, k, v;

  /// Pseudo-random numbers between -2 and 2.
  static Problem any(index_t T, index_t S, index_t N = 1, index_t K = 1, index_t H = 5,
                     index_t Hv = 3, index_t B = 1) {
    Problem p{B,
              T,
              S,
              N,
              K,
              H,
              Hv,
              Floats(to_size(B * T * N * H)),
              Floats(to_size(B * S * K * H)),
              Floats(to_size(B * S * K * Hv))};
    std::uint32_t seed = 12345;
    for (Floats* x : {&p.q, &p.k, &p.v})
      for (float& y : *x) {
        seed = seed * 1664525u + 1013904223u;
        y = static_cast<float>(seed >> 16) / 16384.f - 2.f;
      }
    return p;
  }
  static std::size_t to_size(index_t n) { return static_cast<std::size_t>(n); }
  TensorView<const float, 4> qs() const { return {q.data(), {B, T, N, H}}; }
  TensorView<const float, 4> ks() const { return {k.data(), {B, S, K, H}}; }
  TensorView<const float, 4> vs() const { return {v.data(), {B, S, K, Hv}}; }
};

/// Queries of 0: every visible key weighs the same. Key j has the value 2^j.
Problem equal_weights(index_t T, index_t S) {
  Problem p{1, T, S, 1, 1, 1, 1, Floats(Problem::to_size(T)), Floats(Problem::to_size(S), 1.f), {}};
  for (index_t j = 0; j < S; ++j) p.v.push_back(std::ldexp(1.f, static_cast<int>(j)));
  return p;
}
/// One query against keys whose scores are the given logits.
Problem of_logits(const Floats& logits, const Floats& values) {
  return {1, 1, static_cast<index_t>(logits.size()), 1, 1, 1, 1, {1.f}, logits, values};
}

struct Result {
  std::string way;
  Floats out, lse;  // [B, T, N, Hv], [B, N, T]
};

/// The problem by every attention function on both backends, from rows and from a cache.
template <class B, class Mask, class Score>
void attend(const Problem& p, AttentionOptions<Mask, Score> o, std::vector<Result>& results,
            TensorView<const float, 4> k, TensorView<const float, 4> v) {
  const auto way = [&](const char* name, const auto& run) {
    Result r{std::string(B::name) + " " + name,
             Floats(Problem::to_size(p.B * p.T * p.N * p.Hv), nan),
             Floats(Problem::to_size(p.B * p.N * p.T), nan)};
    o.lse = {r.lse.data(), {p.B, p.N, p.T}};
    run(TensorView<float, 4>(r.out.data(), {p.B, p.T, p.N, p.Hv}));
    results.push_back(r);
  };
  Context<B> ctx;
  way("naive", [&](auto out) { attention_naive(ctx, p.qs(), k, v, out, o); });
  way("tiled", [&](auto out) { attention(ctx, p.qs(), k, v, out, o); });
  way("decode", [&](auto out) { attention_decode(ctx, p.qs(), k, v, out, o); });
  // One row alone takes decode's steps; the last of eight equal ones takes those of many.
  if constexpr (std::is_same_v<Mask, NoMask>) {
    if (p.B == 1 && p.T == 1) {
      constexpr index_t rows = 8;
      const index_t width = p.N * p.Hv;
      Floats out(Problem::to_size(rows * width), nan), lse(Problem::to_size(p.N * rows), nan);
      AttentionOptions<Mask, Score> many = o;
      many.q_offset = 0;
      many.lse = {lse.data(), {1, p.N, rows}};
      attention(ctx, TensorView<const float, 4>(p.q.data(), {1, rows, p.N, p.H}, {0, 0, p.H, 1}), k,
                v, TensorView<float, 4>(out.data(), {1, rows, p.N, p.Hv}), many);
      Result r{
          std::string(B::name) + " tiled, many rows", Floats(out.end() - width, out.end()), {}};
      for (index_t n = 1; n <= p.N; ++n) r.lse.push_back(lse[Problem::to_size(n * rows - 1)]);
      results.push_back(r);
    }
  }
  KvCache<float> cache(p.B, p.S, p.K, p.H, p.Hv);
  cache.append(Executor{}, k, v);
  way("tiled, cache", [&](auto out) { attention(ctx, p.qs(), cache.tiles(), out, o); });
  way("decode, cache", [&](auto out) { attention_decode(ctx, p.qs(), cache.tiles(), out, o); });
}
template <class Mask, class Score>
std::vector<Result> everywhere(const Problem& p, const AttentionOptions<Mask, Score>& o,
                               TensorView<const float, 4> k, TensorView<const float, 4> v) {
  std::vector<Result> results;
  attend<backend::ScalarCpu>(p, o, results, k, v);
  attend<backend::SimdCpu>(p, o, results, k, v);
  return results;
}
template <class Mask, class Score>
std::vector<Result> everywhere(const Problem& p, const AttentionOptions<Mask, Score>& o) {
  return everywhere(p, o, p.ks(), p.vs());
}

void expect_near(const std::vector<Result>& results, const Floats& out, const Floats& lse,
                 double relative = 1e-6) {
  for (const Result& r : results) {
    SCOPED_TRACE(r.way);
    const auto budget = [&](const Floats& x) {
      Floats b;
      for (const float y : x)
        b.push_back(std::isfinite(y) ? static_cast<float>(relative) * std::abs(y) : 0.f);
      return b;
    };
    if (!out.empty()) {
      EXPECT_TRUE(support::all_within(r.out, out, budget(out)));
    }
    if (!lse.empty()) {
      EXPECT_TRUE(support::all_within(r.lse, lse, budget(lse))) << "lse";
    }
  }
}
/// The same bits; a build without fma promises only the same numbers within rounding.
template <class Got, class Expected>
::testing::AssertionResult same(const Got& got, const Expected& expected) {
  return has_fma ? support::same_bits(got, expected)
                 : support::all_close_to_largest(got, expected, 1e-6);
}
void expect_same(const std::vector<Result>& got, const std::vector<Result>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(same(got[i].out, expected[i].out)) << got[i].way;
    EXPECT_TRUE(same(got[i].lse, expected[i].lse)) << got[i].way << ", lse";
  }
}

/// Visible where the table [T, S] says so; asked key by key.
struct Table {
  const bool* seen = nullptr;
  index_t keys = 0, first = 0;  // position of the first row
  bool keep(index_t, index_t, index_t q, index_t k) const { return seen[(q - first) * keys + k]; }
  TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return TileKind::partial;
  }
};
/// A number a key.
struct KeyBias {
  const float* bias = nullptr;
  float operator()(float s, index_t, index_t, index_t, index_t k) const { return s + bias[k]; }
};

using Causal = AttentionOptions<CausalMask>;

TEST(Contracts, V1_masks_work_on_absolute_positions) {
  // More keys than queries: the last query is at the last key.
  expect_near(everywhere(equal_weights(3, 5), Causal{}), {7.f / 3, 15.f / 4, 31.f / 5},
              {std::log(3.f), std::log(4.f), std::log(5.f)});
  // More queries than keys: the first ones are at negative positions and see nothing.
  expect_near(everywhere(equal_weights(5, 2), Causal{}), {0, 0, 0, 1, 1.5f},
              {-infinity, -infinity, -infinity, 0, std::log(2.f)});
  Causal from_start;
  from_start.q_offset = 0;
  expect_near(everywhere(equal_weights(3, 5), from_start), {1, 1.5f, 7.f / 3}, {});
  Causal at_one;
  at_one.q_offset = 1;
  at_one.kv_lengths = 2;
  expect_near(everywhere(equal_weights(3, 5), at_one), {1.5f, 1.5f, 1.5f}, {});
}

TEST(Contracts, V2_a_window_counts_the_token_itself) {
  for (index_t window = 1; window <= 5; ++window) {
    AttentionOptions<SlidingWindow> o;
    o.mask = SlidingWindow(window);
    Floats lse, out;
    for (int p = 0; p < 8; ++p) {
      const int seen = std::min(static_cast<int>(window), p + 1);
      lse.push_back(std::log(static_cast<float>(seen)));
      out.push_back((std::ldexp(1.f, p + 1) - std::ldexp(1.f, p + 1 - seen)) /
                    static_cast<float>(seen));
    }
    expect_near(everywhere(equal_weights(8, 8), o), out, lse);
  }
  EXPECT_EQ(message_of<ValueError>([] { SlidingWindow(0); }),
            "SlidingWindow: window is 0, expected at least 1");
}

TEST(Contracts, V3_a_row_without_keys_is_zero) {
  const bool seen[] = {true, true, false, false};
  Problem p = equal_weights(2, 2);
  p.v = {5, 7};
  AttentionOptions<Table> o;
  o.mask = {seen, 2};
  expect_near(everywhere(p, o), {6, 0}, {std::log(2.f), -infinity});
  const float sink = 0.5f;
  o.sinks = {&sink, {1}};
  const float top = 12 / (2 + std::exp(0.5f));
  expect_near(everywhere(p, o), {top, 0}, {std::log(2 + std::exp(0.5f)), 0.5f});
}

TEST(Contracts, V4_what_is_not_visible_does_not_matter) {
  // Keys 3, 10, 64 and 69 are hidden from all, the rest from some, in partly visible tiles.
  constexpr index_t T = 9, S = 70;
  bool seen[T * S];
  const auto hidden_from_all = [](index_t k) { return k == 3 || k == 10 || k == 64 || k == 69; };
  for (index_t q = 0; q < T; ++q)
    for (index_t k = 0; k < S; ++k) seen[q * S + k] = !hidden_from_all(k) && (q + k) % 3 != 0;
  AttentionOptions<Table> o;
  o.mask = {seen, S, S - T};
  const Problem clean = Problem::any(T, S, 4, 2, 5, 33);
  for (const float poison : {nan, infinity, -infinity}) {
    Problem p = clean;
    for (const index_t k : {3, 10, 64, 69}) {
      std::fill_n(p.k.begin() + k * 10, 10, poison);
      std::fill_n(p.v.begin() + k * 66, 66, poison);
    }
    expect_same(everywhere(p, o), everywhere(clean, o));
  }
  // Causal: no future key changes a row, whatever it holds.
  const Problem causal = Problem::any(S, S, 4, 2, 5, 33);
  Problem p = causal;
  std::fill(p.k.begin() + 40 * 10, p.k.end(), nan);
  std::fill(p.v.begin() + 40 * 66, p.v.end(), infinity);
  const auto got = everywhere(p, Causal{}), expected = everywhere(causal, Causal{});
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t rows = 40 * 4 * 33;
    EXPECT_TRUE(same(std::span(got[i].out).first(rows), std::span(expected[i].out).first(rows)))
        << got[i].way;
  }
  // Keys past the true length.
  AttentionOptions<> half_full;
  half_full.kv_lengths = 40;
  expect_same(everywhere(p, half_full), everywhere(causal, half_full));
}

TEST(Contracts, V4_what_is_visible_shows) {
  // A NaN reaches the rows that see it and no others; log-sum-exp knows scores, not values. Few
  // rows and many take different kernels.
  for (const index_t rows : {index_t{3}, index_t{6}}) {
    const Problem clean = equal_weights(rows, rows);
    Floats out, lse;
    for (int i = 1; i <= static_cast<int>(rows); ++i) {
      out.push_back((std::ldexp(1.f, i) - 1) / static_cast<float>(i));
      lse.push_back(std::log(static_cast<float>(i)));
    }
    expect_near(everywhere(clean, Causal{}), out, lse);
    const auto from_second = [](Floats x, float y) {
      std::fill(x.begin() + 1, x.end(), y);
      return x;
    };
    Problem p = clean;
    for (const float value : {nan, infinity, -infinity}) {
      p.v[1] = value;
      expect_near(everywhere(p, Causal{}), from_second(out, value), lse);
    }
    p = clean;
    p.k[1] = nan;
    expect_near(everywhere(p, Causal{}), from_second(out, nan), from_second(lse, nan));
    p = clean;
    p.q[1] = nan;
    Floats out_of_one = out, lse_of_one = lse;
    out_of_one[1] = lse_of_one[1] = nan;
    expect_near(everywhere(p, Causal{}), out_of_one, lse_of_one);
    // No later tile or span hides it, nor an earlier one.
    const Floats all_nan(Problem::to_size(rows), nan), log_300(Problem::to_size(rows), 5.7037825f);
    for (const std::size_t at : {0u, 5u, 63u, 64u, 255u, 256u, 299u}) {
      Problem many{1,
                   rows,
                   300,
                   1,
                   1,
                   1,
                   1,
                   Floats(Problem::to_size(rows), 1.f),
                   Floats(300, 0.f),
                   Floats(300, 1.f)};
      many.k[at] = nan;
      expect_near(everywhere(many, AttentionOptions<>{}), all_nan, all_nan);
      many.k[at] = 0;
      many.v[at] = nan;
      expect_near(everywhere(many, AttentionOptions<>{}), all_nan, log_300);
    }
  }
  // A row without keys and one of nothing but NaN are told apart.
  Causal none;
  none.q_offset = -1;
  expect_near(everywhere(of_logits({nan}, {3}), none), {0}, {-infinity});
  expect_near(everywhere(of_logits({nan}, {3}), Causal{}), {nan}, {nan});
}

TEST(Contracts, V5_scale_then_score_then_mask_then_sink) {
  AttentionOptions<NoMask, SoftCap> capped;
  capped.score = SoftCap(50.f);
  capped.scale = 0.125f;
  expect_near(everywhere(of_logits({400.f}, {3.f}), capped), {3}, {38.0797078f});
  capped.scale = 1.f;
  for (const float logit : {4400.f, 5000.f, 1e30f})
    expect_near(everywhere(of_logits({logit}, {3.f}), capped), {3}, {50});

  const float bias = 7;
  AttentionOptions<NoMask, ScoreSequence<SoftCap, KeyBias>> biased;
  biased.scale = 0.125f;
  biased.score = SoftCap(50.f) >> KeyBias{&bias};
  expect_near(everywhere(of_logits({400.f}, {3.f}), biased), {3}, {45.0797078f});

  // The mask selects after the cap: a hidden key is not one with the logit -cap.
  const bool seen[] = {true, false};
  AttentionOptions<Table, SoftCap> masked;
  masked.mask = {seen, 2, 1};
  masked.score = SoftCap(50.f);
  masked.scale = 1.f;
  expect_near(everywhere(of_logits({-1000.f, 0.f}, {1.f, 9.f}), masked), {1}, {-50});

  // A sink is neither scaled nor capped, joins the denominator once, and has no value.
  const float sink = 0;
  AttentionOptions<> with_sink;
  with_sink.sinks = {&sink, {1}};
  expect_near(everywhere(of_logits({0, 0}, {3, 6}), with_sink), {3}, {1.0986123f});
  const float large = 100;
  capped.sinks = {&large, {1}};
  for (const Result& r : everywhere(of_logits({0}, {1}), capped)) {
    EXPECT_EQ(r.lse[0], 100.f) << r.way;
    EXPECT_LE(std::abs(r.out[0]), 1e-43f) << r.way;
  }

  // No finite number stands for -inf.
  AttentionOptions<> plain;
  plain.scale = 1.f;
  expect_near(everywhere(of_logits({-1e5f, -1e5f}, {2, 4}), plain), {3}, {-99999.3046875f});
  expect_near(everywhere(of_logits({-1e30f, -1e30f}, {2, 4}), plain), {3}, {-1e30f});
  const float lowest[] = {-3.4028235e38f, -3.4028235e38f, -3.4028235e38f};
  AttentionOptions<NoMask, KeyBias> additive;
  additive.score = {lowest};
  for (const Result& r : everywhere(of_logits({0, 1, 2}, {3, 6, 9}), additive))
    EXPECT_FLOAT_EQ(r.out[0], 6.f) << r.way;
}

TEST(Contracts, V6_log_sum_exp_is_natural_and_last) {
  AttentionOptions<> o;
  expect_near(everywhere(of_logits({0, 0, 0, 0}, {1, 2, 3, 4}), o), {2.5f}, {1.3862944f});
  const float sink = 0;
  o.sinks = {&sink, {1}};
  expect_near(everywhere(of_logits({0, 0, 0, 0}, {1, 2, 3, 4}), o), {2.f}, {1.6094379f});
}

TEST(Contracts, V7_query_head_h_reads_key_head_h_over_group) {
  Problem p{1, 1, 1, 4, 2, 1, 1, {1, 1, 1, 1}, {0, 1}, {10, 20}};
  expect_near(everywhere(p, AttentionOptions<>{}), {10, 10, 20, 20}, {0, 0, 1, 1});
  for (const auto& [N, K] : {std::pair<index_t, index_t>{3, 2}, {33, 2}, {1, 0}, {0, 1}}) {
    Context<backend::SimdCpu> ctx;
    Floats x(66);
    const auto call = [&, heads = N, kv = K](auto f) {
      const TensorView<const float, 4> q(x.data(), {1, 1, heads, 1}), k(x.data(), {1, 1, kv, 1});
      return message_of<ShapeError>([&] {
        f(q, k, TensorView<float, 4>(x.data() + 33, {1, 1, heads, 1}));
      });
    };
    const std::string text = ": " + std::to_string(N) + " query heads and " + std::to_string(K) +
                             " key heads, expected a multiple of at least 1";
    const AttentionOptions<> o;
    EXPECT_EQ(call([&](auto q, auto k, auto y) { attention(ctx, q, k, k, y, o); }),
              "attention" + text);
    EXPECT_EQ(call([&](auto q, auto k, auto y) { attention_naive(ctx, q, k, k, y, o); }),
              "attention_naive" + text);
    EXPECT_EQ(call([&](auto q, auto k, auto y) { attention_decode(ctx, q, k, k, y, o); }),
              "attention_decode" + text);
  }
}

/// x [1, 1, H] rotated at a position.
template <class B>
Floats rotated(Floats x, index_t width, RopePairing pairing, index_t position) {
  Floats table(static_cast<std::size_t>(width));
  const TensorView<float, 3> t(table.data(), {1, 2, width / 2});
  rope_table(rope_frequencies(1e4, width), VectorView<const index_t>(&position, {1}), t);
  Context<B> ctx;
  rope(ctx, t, pairing, TensorView<float, 3>(x.data(), {1, 1, static_cast<index_t>(x.size())}));
  return x;
}
template <class B>
void check_rope() {
  const auto near = [](const Floats& got, const Floats& expected) {
    EXPECT_TRUE(support::all_close(got, expected, 1e-7));
  };
  near(rotated<B>({1, 0, 0, 0}, 4, RopePairing::half_split, 1), {0.5403023f, 0, 0.8414710f, 0});
  near(rotated<B>({1, 0, 0, 0}, 4, RopePairing::interleaved, 1), {0.5403023f, 0.8414710f, 0, 0});
  // Four of eight: pairs (0, 2) at angle 1 and (1, 3) at 0.01; the others keep their bits.
  near(rotated<B>({1, 1, 0, 0, nan, 5, 6, 7}, 4, RopePairing::half_split, 1),
       {0.5403023f, 0.9999500f, 0.8414710f, 0.0099998f, nan, 5, 6, 7});
  // Angles in double: in float they would be off by 1e-2 here.
  near(rotated<B>({1, 0}, 2, RopePairing::half_split, 1000000),
       {static_cast<float>(std::cos(1e6)), static_cast<float>(std::sin(1e6))});
}
TEST(Contracts, V8_rope_has_a_pairing_a_width_and_double_angles) {
  check_rope<backend::ScalarCpu>();
  check_rope<backend::SimdCpu>();
  EXPECT_EQ(message_of<ValueError>([] { rope_frequencies(1e4, 3); }),
            "rope: rotary width is 3, expected an even number of at least 0");
}

template <class Rule, class T>
T normalised(std::vector<T> x, float gain) {
  const auto D = static_cast<index_t>(x.size());
  const Floats gains(x.size(), gain);
  Context<backend::SimdCpu> ctx;
  std::vector<T> y(x.size());
  rms_norm<Rule>(ctx, MatrixView<const T>(x.data(), {1, D}), {gains.data(), {D}},
                 MatrixView<T>(y.data(), {1, D}), 0.f);
  return y[0];
}
template <class B>
Floats layer_normed(const Floats& x) {
  const auto D = static_cast<index_t>(x.size());
  Context<B> ctx;
  Floats y(x.size());
  layer_norm(ctx, MatrixView<const float>(x.data(), {1, D}), {}, {},
             MatrixView<float>(y.data(), {1, D}), 1e-5f);
  return y;
}
TEST(Contracts, V9_norms_sum_in_f32_and_round_where_the_type_says) {
  // Squares of 300 do not fit half.
  EXPECT_EQ(
      static_cast<float>(normalised<gain::AfterRounding>(std::vector<half>(300, half(300.f)), 1.f)),
      1.f);
  // (1 + w) in f32: 3 * 16.8125 rounds to 50.5; with 16.75 it would be 50.25.
  std::vector<bfloat16> row(9, bfloat16(0.f));
  row[0] = bfloat16(1.f);  // normalised: 3
  EXPECT_EQ(static_cast<float>(normalised<gain::PlusOne>(row, 15.8125f)), 50.5f);
  // sqrt(3) = 1.7320508, as bfloat16 1.734375, times 9.
  row.resize(3);
  EXPECT_EQ(static_cast<float>(normalised<gain::AfterRounding>(row, 9.f)), 15.625f);
  EXPECT_EQ(static_cast<float>(normalised<gain::BeforeRounding>(row, 9.f)), 15.5625f);
  // The mean of a constant row is rounded; the corrected two-pass still gives nothing.
  for (const auto& x : {Floats(256, 1234.f), Floats(300, 123456.789f)})
    for (const auto& y : {layer_normed<backend::ScalarCpu>(x), layer_normed<backend::SimdCpu>(x)})
      EXPECT_TRUE(support::all_close(y, Floats(x.size()), 1e-3));
  const Floats expected = {-1.3416354f, -0.4472118f, 0.4472118f, 1.3416354f};
  for (const auto& x : {Floats{40000, 40001, 40002, 40003}, Floats{80000, 80001, 80002, 80003}}) {
    EXPECT_TRUE(support::all_close(layer_normed<backend::ScalarCpu>(x), expected, 1e-6));
    EXPECT_TRUE(support::all_close(layer_normed<backend::SimdCpu>(x), expected, 1e-6));
  }
}

TEST(Contracts, V10_the_scale_is_that_of_the_true_width) {
  Problem p{1, 1, 1, 1, 1, 5, 1, Floats(5, 1.f), Floats(5, 1.f), {3}};
  expect_near(everywhere(p, AttentionOptions<>{}), {3}, {2.2360680f});  // 5 / sqrt(5)
}

TEST(Contracts, V11_outer_strides_are_free) {
  const Problem p = Problem::any(9, 70, 6, 3, 5, 33, 2);
  // Heads before tokens, with a gap of NaN after each row.
  const auto head_major = [&](const Floats& x, index_t width, Floats& memory) {
    const index_t step = width + 2;
    memory.assign(Problem::to_size(p.B * p.K * p.S * step), nan);
    const TensorView<float, 4> view(memory.data(), {p.B, p.S, p.K, width},
                                    {p.K * p.S * step, step, p.S * step, 1});
    for (index_t b = 0, i = 0; b < p.B; ++b)
      for (index_t s = 0; s < p.S; ++s)
        for (index_t n = 0; n < p.K; ++n)
          for (index_t h = 0; h < width; ++h) view(b, s, n, h) = x[Problem::to_size(i++)];
    return TensorView<const float, 4>(view);
  };
  Floats k, v;
  expect_same(everywhere(p, Causal{}, head_major(p.k, p.H, k), head_major(p.v, p.Hv, v)),
              everywhere(p, Causal{}));
  // Stride 0: both sequences and all heads share the first one's keys.
  Problem copied = p;
  for (index_t i = 0; i < p.B * p.S * p.K; ++i) {
    std::copy_n(p.k.begin() + i / p.K % p.S * p.K * p.H, p.H, copied.k.begin() + i * p.H);
    std::copy_n(p.v.begin() + i / p.K % p.S * p.K * p.Hv, p.Hv, copied.v.begin() + i * p.Hv);
  }
  expect_same(everywhere(p, Causal{}, {p.k.data(), {p.B, p.S, p.K, p.H}, {0, p.K * p.H, 0, 1}},
                         {p.v.data(), {p.B, p.S, p.K, p.Hv}, {0, p.K * p.Hv, 0, 1}}),
              everywhere(copied, Causal{}));
  // Offsets beyond 2^31, as a number only.
  const TensorView<const float, 2> wide(nullptr, {100000, 128}, {3 * 56 * 128, 1});
  EXPECT_EQ(wide.stride(0) * 99865, index_t{2147496960});
}

TEST(Contracts, V12_numbers_from_files_are_checked_first) {
  const auto open = [](std::uint64_t header_size, const std::string& header, std::size_t data) {
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header_size >> (8 * i) & 255u);
    bytes += header + std::string(data, '\0');
    return message_of<FileError>(
        [&] { SafetensorsFile(std::as_bytes(std::span(bytes.data(), bytes.size())), "file"); });
  };
  const auto tensor = [&](const char* shape, const char* offsets, std::size_t data) {
    const std::string header = std::string(R"({"a":{"dtype":"F32","shape":)") + shape +
                               R"(,"data_offsets":)" + offsets + "}}";
    return open(header.size(), header, data);
  };
  EXPECT_EQ(tensor("[1]", "[0,4]", 4), "");
  EXPECT_EQ(tensor("[0,4]", "[0,0]", 0), "");
  EXPECT_NE(tensor("[1000,1000]", "[0,4]", 4), "");
  EXPECT_NE(tensor("[4611686018427387904,4]", "[0,0]", 0), "");
  EXPECT_NE(tensor("[1]", "[0,4]", 3), "");
  EXPECT_NE(tensor("[1]", "[4,8]", 8), "");
  for (const std::uint64_t size :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 4, std::uint64_t{1} << 40})
    EXPECT_NE(open(size, "{}", 90), "");
}

TEST(Contracts, V13_soft_cap_is_off_at_zero_and_never_negative) {
  const Problem p = Problem::any(3, 5);
  AttentionOptions<NoMask, SoftCap> off;
  off.score = SoftCap(0.f);
  const auto capped = everywhere(p, off), plain = everywhere(p, AttentionOptions<>{});
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(support::all_close(capped[i].out, plain[i].out, 1e-6)) << plain[i].way;
  for (const float cap : {-1.f, nan, infinity})
    EXPECT_NE(message_of<ValueError>([&] { SoftCap{cap}; }), "");
  EXPECT_EQ(message_of<ValueError>([] { SoftCap(-1.f); }),
            "SoftCap: cap is -1, expected a finite number of at least 0");
}

TEST(Contracts, V14_outputs_may_be_inputs_where_it_says_so) {
  const Floats x = Problem::any(7, 1, 1, 1, 19).q, gain(19, 1.5f);
  const VectorView<const float> g(gain.data(), {19});
  Context<backend::SimdCpu> ctx;
  const auto check = [&](const char* op, const auto& run) {
    Floats apart(x.size()), in_place = x;
    Floats input = x;
    run(MatrixView<const float>(input.data(), {7, 19}), MatrixView<float>(apart.data(), {7, 19}));
    EXPECT_TRUE(support::same_bits(input, x)) << op << " changed its input";
    run(MatrixView<const float>(in_place.data(), {7, 19}),
        MatrixView<float>(in_place.data(), {7, 19}));
    EXPECT_TRUE(support::same_bits(in_place, apart)) << op;
  };
  check("rms_norm", [&](auto in, auto out) { rms_norm(ctx, in, g, out, 1e-6f); });
  check("layer_norm", [&](auto in, auto out) { layer_norm(ctx, in, g, g, out, 1e-6f); });
  check("activation", [&](auto in, auto out) { activation<act::Silu>(ctx, in, out); });
  check("glu", [&](auto in, auto out) { glu<act::Silu>(ctx, in, in, out); });
  check("softmax", [&](auto in, auto out) { softmax(ctx, in, out); });
}

TEST(Contracts, V15_sums_are_formed_in_one_order) {
  if (!has_fma) GTEST_SKIP() << "a build without fma promises no bits";
  // linear: blocks of 256, each one chain of fma from +0, added in ascending order; then the bias.
  constexpr index_t M = 3, N = 21, K = 600;
  const Problem p = Problem::any(M, N, 1, 1, K);
  const Floats bias(N, 0.1f);
  Floats expected;
  for (index_t m = 0; m < M; ++m)
    for (index_t n = 0; n < N; ++n) {
      float blocks[3] = {};
      for (index_t k = 0; k < K; ++k)
        blocks[k / 256] = std::fma(p.q[Problem::to_size(m * K + k)],
                                   p.k[Problem::to_size(n * K + k)], blocks[k / 256]);
      expected.push_back(((blocks[0] + blocks[1]) + blocks[2]) + 0.1f);
    }
  for (const index_t rows : {index_t{1}, M}) {
    const auto part = std::span(std::as_const(expected)).first(Problem::to_size(rows * N));
    Floats y(part.size());
    const auto run = [&](auto& ctx) {
      linear(ctx, MatrixView<const float>(p.q.data(), {rows, K}),
             MatrixView<const float>(p.k.data(), {N, K}), {bias.data(), {N}},
             MatrixView<float>(y.data(), {rows, N}));
      EXPECT_TRUE(support::same_bits(y, part)) << rows << " rows";
    };
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd;
    run(scalar);
    run(simd);
  }
  // attention: tiles of 64, spans of 256 from position 0; every way but the naive one, everywhere.
  const auto results = everywhere(Problem::any(5, 600, 4, 2, 16, 8), Causal{});
  for (const Result& r : results) {
    if (r.way.find("naive") != r.way.npos) continue;
    EXPECT_TRUE(support::same_bits(r.out, results[1].out)) << r.way;
    EXPECT_TRUE(support::same_bits(r.lse, results[1].lse)) << r.way;
  }
}

}  // namespace
}  // namespace contracts_test
