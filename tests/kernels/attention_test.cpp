// The attention kernels of SimdCpu against the scalar ones: the same bits wherever the build has
// fma, however the work is cut.
#include <gtest/gtest.h>

#include "attention/problem.hpp"

namespace attention_test {
namespace {

using namespace ashlar;
using Scalar = Context<backend::ScalarCpu>;
using Simd = Context<backend::SimdCpu>;

constexpr index_t widths[] = {1,  2,  3,  5,  7,  8,  12,  15,  16,  17,  31, 33,
                              40, 63, 64, 65, 80, 96, 111, 128, 192, 256, 512};

/// Bits with fma; without it the error of a sum of rounded products, for scores of at most a few
/// hundred.
::testing::AssertionResult agrees(const Result& got, const Result& expected) {
  if (has_fma) return same(got, expected);
  const auto out = support::all_close(got.out, expected.out, 2e-4);
  return out ? support::all_close(got.lse, expected.lse, 2e-4) << " (lse)" : out;
}

/// All ways to compute a problem, against the scalar kernels. 16-bit caches where `stored` says so:
/// each type costs a set of kernels.
template <bool Stored = false, class Mask, class Score>
void check(Problem& p, int workers, Mask mask, Score score) {
  const auto o = p.options(mask, score);
  Scalar scalar;
  Simd simd(threads(workers));
  const Result expected = p.attend(scalar, o);
  EXPECT_TRUE(agrees(p.attend(simd, o), expected)) << "attention, rows";
  const auto tiles = p.cache<float>();
  EXPECT_TRUE(agrees(p.attend(simd, *tiles, o), expected)) << "attention, tiles";
  EXPECT_TRUE(agrees(p.decode(simd, o), expected)) << "decode, rows";
  EXPECT_TRUE(agrees(p.decode(simd, *tiles, o), expected)) << "decode, tiles";
  EXPECT_TRUE(agrees(p.naive(simd, o), p.naive(scalar, o))) << "naive";
  if constexpr (Stored) {
    const auto halves = p.cache<half>();
    const auto brains = p.cache<bfloat16>();
    EXPECT_TRUE(agrees(p.attend(simd, *halves, o), expected)) << "attention, half";
    EXPECT_TRUE(agrees(p.decode(simd, *halves, o), expected)) << "decode, half";
    EXPECT_TRUE(agrees(p.attend(simd, *brains, o), expected)) << "attention, bfloat16";
    EXPECT_TRUE(agrees(p.decode(simd, *brains, o), expected)) << "decode, bfloat16";
  }
}

/// One of the mask and score combinations.
void check_kind(Problem& p, int workers, index_t kind, support::Random& random) {
  const Floats slopes = alibi_slopes(p.s.N);
  const Alibi alibi(VectorView<const float>(slopes.data(), {p.s.N}));
  const SlidingWindow window(random.integer(1, 90));
  bool strayed = false;
  Holes holes{-(index_t{1} << 40), index_t{1} << 40, p.s.S, &strayed};
  if (p.s.B == 1 && p.q_lengths.empty()) {
    const index_t keys = p.kv_lengths.empty() ? p.s.S : p.kv_lengths[0];
    holes.q_begin = p.q_offset.empty() ? keys - p.s.T : p.q_offset[0];
    holes.q_end = holes.q_begin + p.s.T;
    holes.keys = keys;
  }
  switch (kind) {
    case 0:
      return check<true>(p, workers, NoMask{}, NoScore{});
    case 1:
      return check<true>(p, workers, CausalMask{}, NoScore{});
    case 2:
      return check(p, workers, window, SoftCap(3.f));
    case 3:
      return check(p, workers, CausalMask{} & window, alibi);
    case 4:
      check(p, workers, holes, PlainScore{});
      break;
    case 5:
      return check(p, workers, CausalMask{} | Prefix{random.integer(0, 80)}, SoftCap(5.f) >> alibi);
    case 6:
      check(p, workers, holes & CausalMask{}, NoScore{});
      break;
    default:
      return check(p, workers, Nothing{}, NoScore{});
  }
  EXPECT_FALSE(strayed) << "the mask was asked about a pair that does not exist";
}
constexpr index_t kinds = 8;

/// Per-sequence options at random.
void add_options(Problem& p, support::Random& random) {
  const auto each = [&](index_t low, index_t high) {
    std::vector<index_t> x(static_cast<std::size_t>(p.s.B));
    for (index_t& y : x) y = random.integer(low, high);
    return x;
  };
  if (random.chance(0.3)) p.q_offset = each(-20, 140);
  if (random.chance(0.03)) p.q_offset = each((1 << 24) - 40, (1 << 24) + 40);
  if (random.chance(0.2)) p.q_lengths = each(0, p.s.T);
  if (random.chance(0.2)) p.kv_lengths = each(0, p.s.S);
  if (random.chance(0.2)) p.scale = 0.25f;
  if (random.chance(0.25)) p.sinks = random.normals<float>(p.s.N, 2);
}

TEST(AttentionBits, EveryHeadWidth) {
  support::Random random(1);
  for (const index_t H : widths)
    for (const index_t kind : {index_t{0}, index_t{1}, index_t{5}}) {
      const index_t Hv = widths[random.integer(0, std::ssize(widths) - 1)];
      SCOPED_TRACE(testing::Message() << "H " << H << " Hv " << Hv << " kind " << kind);
      Problem p({1, 37, 71, 2, 1, H, Hv}, 5, random);
      check_kind(p, 2, kind, random);
    }
}

TEST(AttentionBits, EveryLengthAroundATile) {
  support::Random random(2);
  for (index_t S = 1; S <= 2 * key_tile + 1; ++S) {
    const index_t T = random.integer(1, 2 * key_tile + 1);
    SCOPED_TRACE(testing::Message() << "T " << T << " S " << S);
    Problem a({1, T, S, 1, 1, 9, 6}, 3, random), b({1, 3, S, 3, 1, 8, 34}, 0, random);
    check_kind(a, 1, S % kinds, random);
    check_kind(b, 3, (S + 1) % kinds, random);
  }
}

TEST(AttentionBits, EveryKindOverSpans) {
  support::Random random(3);
  for (index_t kind = 0; kind < kinds; ++kind)
    for (const index_t T : {2, 70})
      for (const index_t S : {256, 257, 600}) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << " T " << T << " S " << S);
        Problem p({2, T, S, 4, 2, 16, 8}, 7, random);
        add_options(p, random);
        check_kind(p, 3, kind, random);
      }
}

TEST(AttentionBits, Random) {
  support::Random random(4);
  SCOPED_TRACE(random.seed());
  for (int i = 0; i < (has_fma ? 2200 : 300) && !testing::Test::HasFailure(); ++i) {
    Shape s;
    s.B = random.integer(1, 3);
    s.K = random.integer(1, 3);
    s.N = s.K * (random.chance(0.9) ? random.integer(1, 3) : random.integer(4, 9));
    s.T = random.chance(0.7) ? random.integer(1, 6) : random.integer(1, 40);
    s.S = random.chance(0.9) ? random.integer(1, 80) : random.integer(1, 530);
    s.H = random.chance(0.9) ? random.integer(1, 20) : widths[random.integer(0, 19)];
    s.Hv = random.chance(0.3) ? s.H : random.integer(1, 40);
    Problem p(s, random.integer(0, 9), random);
    add_options(p, random);
    const index_t kind = random.integer(0, kinds - 1);
    SCOPED_TRACE(testing::Message()
                 << "case " << i << " kind " << kind << " B " << s.B << " T " << s.T << " S " << s.S
                 << " N " << s.N << " K " << s.K << " H " << s.H << " Hv " << s.Hv);
    check_kind(p, static_cast<int>(random.integer(1, 3)), kind, random);
  }
}

TEST(AttentionBits, ChunksAndDecodeOneByOne) {
  support::Random random(5);
  Problem p({2, 150, 330, 4, 2, 24, 40}, 4, random);
  const auto o = p.options(CausalMask{}, NoScore{});
  Simd simd;
  const Result whole = p.attend(simd, o);
  const auto tiles = p.cache<float>();
  for (const index_t chunk : {1, 7, 64})
    for (const bool decode : {false, true})
      for (const bool rows : {false, true}) {
        const Result got = p.run(o, [&](auto out, auto& options) {
          for (index_t t = 0; t < p.s.T; t += chunk) {
            const index_t end = min_index(p.s.T, t + chunk);
            auto part = options;
            part.q_offset = p.s.S - p.s.T + t;
            part.lse = options.lse.slice(2, t, end);
            const auto q = p.cq().slice(1, t, end);
            const auto y = out.slice(1, t, end);
            if (decode && rows)
              attention_decode(simd, q, p.ks(), p.vs(), y, part);
            else if (decode)
              attention_decode(simd, q, tiles->tiles, y, part);
            else if (rows)
              attention(simd, q, p.ks(), p.vs(), y, part);
            else
              attention(simd, q, tiles->tiles, y, part);
          }
        });
        // Without fma few rows, which take the steps of decode, agree within rounding.
        EXPECT_TRUE(agrees(got, whole)) << "chunk " << chunk << " decode " << decode;
      }
}

TEST(AttentionBits, RowAloneOrInABatch) {
  support::Random random(6);
  Problem p({5, 40, 90, 3, 3, 20, 20}, 2, random);
  Simd simd;
  const Result all = p.attend(simd, p.options(CausalMask{}, NoScore{}));
  const std::size_t size = all.out.size() / 5;
  for (index_t b = 0; b < 5; ++b) {
    Floats one(size);
    attention(simd, p.cq().slice(0, b, b + 1), p.ks().slice(0, b, b + 1), p.vs().slice(0, b, b + 1),
              TensorView<float, 4>(one.data(), {1, 40, 3, 20}), p.options(CausalMask{}, NoScore{}));
    const Floats expected(all.out.begin() + b * static_cast<index_t>(size),
                          all.out.begin() + (b + 1) * static_cast<index_t>(size));
    EXPECT_TRUE(support::same_bits(one, expected));
  }
}

/// What masked keys hold must not matter: NaN and Inf in K and V, inside visited tiles.
TEST(AttentionBits, HiddenKeysMayHoldAnything) {
  support::Random random(7);
  const float poison[] = {NAN, HUGE_VALF, -HUGE_VALF};
  const auto hidden = [](index_t j) { return j % 17 == 3; };  // to every query, by Holes
  for (const index_t T : {1, 3, 60}) {
    Problem p({1, T, 200, 2, 1, 12, 33}, 2, random);
    const auto o = p.options(Holes{}, NoScore{});
    Scalar scalar;
    Simd simd;
    const Result clean = p.attend(scalar, o), clean_naive = p.naive(scalar, o);
    for (index_t j = 0; j < p.s.S; ++j) {
      if (!hidden(j)) continue;
      for (index_t h = 0; h < p.s.H; ++h) p.ks()(0, j, 0, h) = poison[(j + h) % 3];
      for (index_t d = 0; d < p.s.Hv; ++d) p.vs()(0, j, 0, d) = poison[(j + d) % 3];
    }
    const auto tiles = p.cache<float>();
    const auto halves = p.cache<half>();
    const auto brains = p.cache<bfloat16>();
    EXPECT_TRUE(agrees(p.attend(simd, o), clean));
    EXPECT_TRUE(agrees(p.attend(simd, *tiles, o), clean));
    EXPECT_TRUE(agrees(p.attend(simd, *halves, o), clean));
    EXPECT_TRUE(agrees(p.attend(simd, *brains, o), clean));
    EXPECT_TRUE(agrees(p.decode(simd, o), clean));
    EXPECT_TRUE(agrees(p.decode(simd, *tiles, o), clean));
    EXPECT_TRUE(agrees(p.decode(simd, *halves, o), clean));
    EXPECT_TRUE(agrees(p.decode(simd, *brains, o), clean));
    EXPECT_TRUE(agrees(p.naive(simd, o), clean_naive));
  }
}

/// Causal: the future of a chunk, where each query hides another part of one tile.
TEST(AttentionBits, TheFutureMayHoldAnything) {
  support::Random random(8);
  Problem p({1, 60, 100, 2, 1, 8, 20}, 0, random);
  const auto o = p.options(CausalMask{}, SoftCap(4.f));
  Scalar scalar;
  Simd simd;
  const Result clean = p.attend(scalar, o), clean_naive = p.naive(scalar, o);
  for (index_t h = 0; h < p.s.H; ++h) p.ks()(0, 70, 0, h) = NAN;
  for (index_t d = 0; d < p.s.Hv; ++d) p.vs()(0, 70, 0, d) = d % 2 ? NAN : HUGE_VALF;
  const auto before = [&](Result r) {  // rows that come before position 70
    r.out.resize(static_cast<std::size_t>(30 * p.s.N * p.s.Hv));
    r.lse.resize(30);
    return r;
  };
  const auto tiles = p.cache<float>();
  EXPECT_TRUE(agrees(before(p.attend(simd, o)), before(clean)));
  EXPECT_TRUE(agrees(before(p.attend(simd, *tiles, o)), before(clean)));
  EXPECT_TRUE(agrees(before(p.decode(simd, *tiles, o)), before(clean)));
  EXPECT_TRUE(agrees(before(p.naive(simd, o)), before(clean_naive)));
}

TEST(AttentionBits, StridesOfAnyOrder) {
  support::Random random(9);
  Problem p({1, 33, 70, 3, 3, 10, 10}, 0, random);
  Simd simd;
  const auto o = p.options(CausalMask{}, NoScore{});
  const Result expected = p.attend(simd, o);
  // [B, N, T, H] in memory, seen as [B, T, N, H].
  const auto turned = [](TensorView<float, 4> x, Floats& memory) {
    const index_t T = x.extent(1), N = x.extent(2), H = x.extent(3);
    memory.resize(static_cast<std::size_t>(T * N * H));
    TensorView<float, 4> y(memory.data(), {1, T, N, H}, {T * N * H, H, T * H, 1});
    for (index_t t = 0; t < T; ++t)
      for (index_t n = 0; n < N; ++n)
        for (index_t h = 0; h < H; ++h) y(0, t, n, h) = x(0, t, n, h);
    return y;
  };
  Floats q, k, v;
  const auto tq = turned(p.qs(), q), tk = turned(p.ks(), k), tv = turned(p.vs(), v);
  EXPECT_TRUE(same(
      p.run(o, [&](auto out,
                   auto& op) { attention(simd, TensorView<const float, 4>(tq), tk, tv, out, op); }),
      expected));
  // Stride 0: all keys are one key.
  const TensorView<const float, 4> one_k(k.data(), {1, 70, 3, 10}, {0, 0, 0, 1}),
      one_v(v.data(), {1, 70, 3, 10}, {0, 0, 0, 1});
  Scalar scalar;
  const auto broadcast = [&](auto& ctx) {
    return p.run(o, [&](auto out, auto& op) { attention(ctx, p.cq(), one_k, one_v, out, op); });
  };
  EXPECT_TRUE(agrees(broadcast(simd), broadcast(scalar)));
}

TEST(AttentionMemory, StaysBelowOneMebibyteAWorker) {
  support::Random random(10);
  for (const index_t H : {64, 128, 256}) {
    Problem p({1, 300, 300, 1, 1, H, H}, 0, random);
    Simd simd;
    p.attend(simd, p.options(CausalMask{}, NoScore{}));
    EXPECT_LT(simd.scratch().peak_bytes(), std::size_t{1} << 20) << "H " << H;
    simd.scratch().reset_peak();
    const auto halves = p.cache<half>();
    p.attend(simd, *halves, p.options(CausalMask{}, NoScore{}));
    EXPECT_LT(simd.scratch().peak_bytes(), std::size_t{1} << 20) << "half, H " << H;
  }
}

}  // namespace
}  // namespace attention_test
