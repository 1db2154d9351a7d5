// Small attention problems with known answers, from faults reported of other libraries, on every
// kernel.
#include <gtest/gtest.h>

#include "attention/problem.hpp"

namespace attention_test {
namespace {

using namespace ashlar;

constexpr float inf = HUGE_VALF;

/// One sequence, head width 1, all q = 1 and scale 1: the scores are the keys.
struct Small {
  Floats keys, values;
  index_t T = 1;
  std::vector<index_t> q_offset{};
  Floats sinks{};
  Floats q{};
  float scale = 1.f;

  /// Calls f(result, name) for every kernel.
  template <class Mask, class Score, class F>
  void each(Mask mask, Score score, const F& f) const {
    support::Random random(1);
    const auto S = static_cast<index_t>(keys.size());
    Problem p({1, T, S, 1, 1, 1, 1}, 2, random);
    p.scale = scale;
    p.q_offset = q_offset;
    p.sinks = sinks;
    p.q.assign<float>(q.empty() ? Floats(static_cast<std::size_t>(T), 1.f) : q);
    p.k.assign<float>(keys);
    p.v.assign<float>(values);
    const auto o = p.options(mask, score);
    const auto tiles = p.cache<float>();
    const auto all = [&](auto& ctx) {
      f(p.attend(ctx, o), "attention");
      f(p.attend(ctx, *tiles, o), "attention, tiles");
      f(p.decode(ctx, *tiles, o), "decode");
      f(p.naive(ctx, o), "naive");
    };
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd;
    all(scalar);
    all(simd);
  }
  template <class Mask, class Score>
  void expect(Mask mask, Score score, Floats out, Floats lse = {}, double tolerance = 1e-6) const {
    each(mask, score, [&](const Result& r, const char* name) {
      SCOPED_TRACE(name);
      EXPECT_TRUE(support::all_close(r.out, out, tolerance));
      if (!lse.empty()) {
        const double largest = std::max(1.0, support::max_magnitude(lse));
        EXPECT_TRUE(support::all_close(r.lse, lse, 2.4e-7 * largest)) << "lse";
      }
    });
  }
};

/// keep() by a table of rows.
struct Table {
  bool see[8][8] = {};
  index_t first = 0;  // position of row 0
  bool keep(index_t, index_t, index_t q, index_t k) const { return see[q - first][k]; }
  TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return TileKind::partial;
  }
};
struct Bias {
  float value = 0;
  float operator()(float s, index_t, index_t, index_t, index_t) const { return s + value; }
};
/// Hides the keys before `begin`.
struct From {
  index_t begin = 0;
  bool keep(index_t, index_t, index_t, index_t k) const { return k >= begin; }
  TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return TileKind::partial;
  }
};

TEST(AttentionCases, C001RowWithoutAnyKey) {
  Table mask;
  mask.see[0][0] = mask.see[0][1] = true;
  Small{{0, 0}, {5, 7}, 2}.expect(mask, NoScore{}, {6, 0}, {0.69314718f, -inf});
}
TEST(AttentionCases, C002LowestFiniteBias) {
  Small{{0, 1, 2}, {3, 6, 9}}.expect(NoMask{}, Bias{-3.4028235e38f}, {6});
}
TEST(AttentionCases, C004MasksThatEmptyARowTogether) {
  Table second;
  second.see[0][1] = second.see[1][1] = true;
  Small{{0, 0}, {5, 7}, 2}.expect(CausalMask{} & second, NoScore{}, {0, 7}, {-inf, 0});
}
TEST(AttentionCases, C005ScoresFarBelowAnyFloor) {
  Small{{-1e5f, -1e5f}, {2, 4}}.each(NoMask{}, NoScore{}, [](const Result& r, const char* name) {
    EXPECT_FLOAT_EQ(r.out[0], 3.f) << name;
    EXPECT_FLOAT_EQ(r.lse[0], -99999.3046875f) << name;
  });
  Small{{-1e30f, -1e30f}, {2, 4}}.expect(NoMask{}, NoScore{}, {3});
}
TEST(AttentionCases, C006OnlyVisibleKeyIsInTheFuture) {
  Table mask;
  mask.see[0][3] = true;
  Small{{0, 0, 0, 0}, {1, 2, 3, 4}, 1, {0}}.expect(CausalMask{} & mask, NoScore{}, {0}, {-inf});
}
TEST(AttentionCases, C008SoftcapOfLargeLogits) {
  Small{{4400, 5000, 1e30f}, {3, 6, 9}}.expect(NoMask{}, SoftCap(50.f), {6}, {51.0986123f});
  Small{{-10000}, {3}}.expect(NoMask{}, SoftCap(50.f), {3}, {-50});
}
TEST(AttentionCases, C009SoftcapComesAfterTheScale) {
  Small small{{400}, {1}};
  small.scale = 0.125f;
  small.each(NoMask{}, SoftCap(50.f), [](const Result& r, const char* name) {
    EXPECT_NEAR(r.lse[0], 38.0797f, 1e-4) << name;
  });
}
TEST(AttentionCases, C010SoftcapComesBeforeTheMask) {
  Table mask;
  mask.see[0][0] = true;
  mask.first = 1;
  Small{{-1000, 0}, {1, 9}}.expect(mask, SoftCap(50.f), {1}, {-50}, 0);
}
TEST(AttentionCases, C012FirstTileIsHidden) {
  support::Random random(12);
  Floats k = random.normals<float>(2 * key_tile), v = random.normals<float>(2 * key_tile);
  const Floats k2(k.begin() + key_tile, k.end()), v2(v.begin() + key_tile, v.end());
  std::vector<Result> alone;
  Small{k2, v2, 7}.each(NoMask{}, NoScore{},
                        [&](const Result& r, const char*) { alone.push_back(r); });
  std::size_t i = 0;
  Small{k, v, 7}.each(From{key_tile}, NoScore{}, [&](const Result& r, const char* name) {
    EXPECT_TRUE(same(r, alone[i++])) << name;
  });
}
TEST(AttentionCases, C016CausalIsAlignedToTheLastKey) {
  Small{{0, 0, 0, 0, 0}, {3, 5, 7, 9, 11}, 3}.expect(CausalMask{}, NoScore{}, {5, 6, 7});
}
TEST(AttentionCases, C017MoreQueriesThanKeys) {
  Small{{0, 0}, {3, 5}, 5}.expect(CausalMask{}, NoScore{}, {0, 0, 0, 3, 4},
                                  {-inf, -inf, -inf, 0, 0.69314718f});
}
TEST(AttentionCases, C020ChunkWithAnOffset) {
  support::Random random(20);
  const Floats k = random.normals<float>(8), v = random.normals<float>(8);
  std::vector<Result> whole;
  Small{k, v, 8}.each(CausalMask{}, NoScore{},
                      [&](const Result& r, const char*) { whole.push_back(r); });
  std::size_t i = 0;
  Small{k, v, 3, {5}}.each(CausalMask{}, NoScore{}, [&](const Result& r, const char* name) {
    EXPECT_TRUE(support::same_bits(r.out, Floats(whole[i].out.begin() + 5, whole[i].out.end())))
        << name;
    ++i;
  });
}
TEST(AttentionCases, C021AChunkDoesNotSeeItsFuture) {
  Floats k{0, 0, 0, 0, 0}, v{3, 5, 7, 9, 11};
  Small{k, v, 2}.expect(CausalMask{}, NoScore{}, {6, 7});
  k[4] = NAN;
  v[4] = NAN;
  Small{k, v, 2}.each(CausalMask{}, NoScore{}, [](const Result& r, const char* name) {
    EXPECT_FLOAT_EQ(r.out[0], 6.f) << name;
  });
}
TEST(AttentionCases, C024NeighbouringHeadsShareAKey) {
  for (const bool use_simd : {false, true}) {
    const float q[4] = {1, 1, 1, 1}, k[2] = {0, 1}, v[2] = {10, 20};
    float out[4], lse[4];
    AttentionOptions<> o{};
    o.lse = TensorView<float, 3>(lse, {1, 4, 1});
    const TensorView<const float, 4> qs(q, {1, 1, 4, 1}), ks(k, {1, 1, 2, 1}), vs(v, {1, 1, 2, 1});
    const TensorView<float, 4> y(out, {1, 1, 4, 1});
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd;
    if (use_simd)
      attention(simd, qs, ks, vs, y, o);
    else
      attention(scalar, qs, ks, vs, y, o);
    EXPECT_TRUE(support::all_close(Floats(out, out + 4), Floats{10, 10, 20, 20}, 0));
    EXPECT_TRUE(support::all_close(Floats(lse, lse + 4), Floats{0, 0, 1, 1}, 1e-6));
  }
}
template <class B>
void expect_bad_heads(index_t N, index_t K) {
  Context<B> ctx;
  Floats x(64), y(64);
  EXPECT_THROW(attention(ctx, TensorView<const float, 4>(x.data(), {1, 1, N, 1}),
                         TensorView<const float, 4>(x.data(), {1, 1, K, 1}),
                         TensorView<const float, 4>(x.data(), {1, 1, K, 1}),
                         TensorView<float, 4>(y.data(), {1, 1, N, 1}), AttentionOptions<>{}),
               ShapeError)
      << N << ' ' << K;
}
TEST(AttentionCases, C026HeadsThatDoNotDivide) {
  for (const auto& [N, K] : {std::pair{3, 2}, {33, 2}, {4, 0}, {0, 2}, {2, 4}}) {
    expect_bad_heads<backend::ScalarCpu>(N, K);
    expect_bad_heads<backend::SimdCpu>(N, K);
  }
}
TEST(AttentionCases, C097TailLanesDoNotCount) {
  const std::size_t n = key_tile + 1;
  Floats v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i);
  Small{Floats(n, -10.f), v, 1}.each(NoMask{}, NoScore{}, [&](const Result& r, const char* name) {
    EXPECT_NEAR(r.out[0], 32.f, 32e-6) << name;
    EXPECT_NEAR(r.lse[0], -10.f + std::log(65.f), 1e-5) << name;
  });
}
TEST(AttentionCases, C101SequencesWithoutTokens) {
  support::Random random(101);
  for (const auto& [T, q, kv] :
       {std::tuple{index_t{1}, std::vector<index_t>{0, 1, 0, 1}, std::vector<index_t>{0, 3, 0, 5}},
        {index_t{9}, {3, 0, 2, 9}, {3, 0, 2, 1}}}) {  // C104
    Problem p({4, T, 9, 1, 1, 4, 4}, 1, random);
    p.q_lengths = q;
    p.kv_lengths = kv;
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd;
    const auto check = [&, T = T, q = q](const Result& r) {
      for (index_t b = 0; b < 4; ++b)
        for (index_t t = 0; t < T; ++t) {
          const bool live = t < q[static_cast<std::size_t>(b)];
          const float lse = r.lse[static_cast<std::size_t>(b * T + t)];
          EXPECT_EQ(std::isfinite(lse), live);
          for (index_t d = 0; d < 4; ++d) {
            const float y = r.out[static_cast<std::size_t>((b * T + t) * 4 + d)];
            EXPECT_TRUE(live ? std::isfinite(y) : y == 0.f);
          }
        }
    };
    const auto o = p.options(NoMask{}, NoScore{});
    check(p.attend(scalar, o));
    check(p.naive(scalar, o));
    check(p.attend(simd, o));
    check(p.decode(simd, o));
    check(p.naive(simd, o));
  }
}
TEST(AttentionCases, C102NothingAtAll) {
  support::Random random(102);
  for (const Shape s : {Shape{0, 2, 2, 1, 1, 2, 2}, Shape{1, 0, 2, 1, 1, 2, 2},
                        Shape{2, 3, 0, 2, 1, 2, 2}, Shape{1, 3, 2, 1, 1, 2, 0}}) {
    Problem p(s, 0, random);
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd;
    const auto o = p.options(CausalMask{}, NoScore{});
    const auto check = [&](const Result& r) {
      for (const float y : r.out) EXPECT_EQ(y, 0.f);
      for (const float y : r.lse) EXPECT_TRUE(s.S > 0 || y == -inf);  // C112
    };
    check(p.attend(scalar, o));
    check(p.attend(simd, o));
    check(p.decode(simd, o));
    check(p.naive(simd, o));
  }
}
TEST(AttentionCases, C108ScaleOfTheTrueWidth) {
  support::Random random(108);
  Problem p({1, 1, 1, 1, 1, 5, 1}, 3, random);
  p.q.assign<float>(Floats{1, 1, 1, 1, 1});
  p.k.assign<float>(Floats{1, 1, 1, 1, 1});
  Context<backend::ScalarCpu> scalar;
  Context<backend::SimdCpu> simd;
  const auto o = p.options(NoMask{}, NoScore{});
  for (const Result& r : {p.attend(scalar, o), p.attend(simd, o), p.decode(simd, o),
                          p.naive(scalar, o), p.naive(simd, o)})
    EXPECT_NEAR(r.lse[0], 5 * 0.4472136f, 1e-6);
}
TEST(AttentionCases, C113LogSumExpIsNatural) {
  Small{{0, 0, 0, 0}, {1, 2, 3, 4}}.expect(NoMask{}, NoScore{}, {2.5f}, {1.3862944f});
}
TEST(AttentionCases, C114MergeOfEmptyParts) {
  SoftmaxState<float> empty, one{0.f, 1.f};
  merge(empty, SoftmaxState<float>{});
  EXPECT_EQ(empty.l, 0.f);
  EXPECT_EQ(empty.m, -inf);
  const MergeScales<float> s = merge(one, SoftmaxState<float>{});
  EXPECT_EQ(s.first, 1.f);
  EXPECT_EQ(s.second, 0.f);
  EXPECT_EQ(one.l, 1.f);
}
TEST(AttentionCases, C117SinkJoinsOnce) {
  const Small small{{0, 0}, {3, 6}, 1, {}, {0}};
  small.expect(NoMask{}, NoScore{}, {3}, {1.0986123f});
  // The sink is not capped.
  const Small capped{{0}, {4}, 1, {}, {100}};
  capped.expect(NoMask{}, SoftCap(50.f), {0}, {100});
  // More spans than one.
  const Small long_row{Floats(600, 0.f), Floats(600, 3.f), 1, {}, {std::log(600.f)}};
  long_row.expect(NoMask{}, NoScore{}, {1.5f}, {std::log(1200.f)}, 1e-5);
}
TEST(AttentionCases, C118SinkOfAnEmptyRow) {
  const Small small{{0}, {7}, 1, {-1}, {0.5f}};
  small.expect(CausalMask{}, NoScore{}, {0}, {0.5f});
  const Small large{{0}, {7}, 1, {}, {100}};
  large.expect(NoMask{}, NoScore{}, {0}, {100});

  // No key at all, after a call that left its sums in the scratch memory.
  support::Random random(118);
  Problem p({1, 2, 9, 1, 1, 4, 40}, 0, random);
  Context<backend::SimdCpu> simd;
  p.v.assign<float>(Floats(9 * 40, inf));
  p.decode(simd, p.options(NoMask{}, NoScore{}));
  p.kv_lengths = {0};
  p.sinks = {0.5f};
  const Result r = p.decode(simd, p.options(NoMask{}, NoScore{}));
  EXPECT_TRUE(support::same_bits(r.out, Floats(80, 0.f)));
  EXPECT_TRUE(support::all_close(r.lse, Floats(2, 0.5f), 1e-7));
}
#if defined(ASHLAR_DEBUG_CHECKS)
TEST(AttentionCases, OutMayNotOverlapItsInputs) {
  Context<backend::SimdCpu> ctx;
  Floats x(16), other(16);
  const TensorView<float, 4> a(x.data(), {1, 4, 1, 4}), b(other.data(), {1, 4, 1, 4});
  const TensorView<const float, 4> ca(a), cb(b);
  EXPECT_THROW(attention(ctx, ca, cb, cb, a, AttentionOptions<>{}), ValueError);
  EXPECT_THROW(attention(ctx, cb, ca, cb, a, AttentionOptions<>{}), ValueError);
  EXPECT_THROW(attention(ctx, cb, cb, ca, a, AttentionOptions<>{}), ValueError);
  EXPECT_NO_THROW(attention(ctx, cb, cb, cb, a, AttentionOptions<>{}));
}
#endif

}  // namespace
}  // namespace attention_test
