// Masks from tables of bits: every bit by brute force, and attention with them against the formula
// in double.
#include <gtest/gtest.h>

#include <array>
#include <ashlar/attention/mask/bitmap_mask.hpp>
#include <ashlar/attention/mask/block_mask.hpp>
#include <cstring>

#include "attention/problem.hpp"
#include "oracle/attention.hpp"
#include "support/message.hpp"

namespace attention_test {
namespace {

using namespace ashlar;
using Pairs = std::vector<std::uint8_t>;

/// A copy of words that ends at memory without access, which a device's would be.
struct Copy {
  explicit Copy(const std::vector<std::uint32_t>& words)
      : memory(static_cast<std::ptrdiff_t>(words.size())) {
    std::memcpy(memory.data(), words.data(), 4 * words.size());
  }
  support::PoisonedBuffer<std::uint32_t> memory;
};

/// Runs of equal bits, so that tiles of every kind come up.
struct Dense {
  Dense(index_t b, index_t h, index_t r, index_t c, support::Random& random)
      : B(b), H(h), rows(r), columns(c), bits(static_cast<std::size_t>(b * h * r * c)) {
    for (index_t i = 0; i < B * H * rows; ++i) {
      const bool as_before = i % rows != 0 && random.chance(0.8);
      bool on = random.chance(0.5);
      for (index_t k = 0; k < columns; ++k) {
        if (random.chance(0.02)) on = !on;
        const auto at = static_cast<std::size_t>(i * columns + k);
        bits[at] = as_before ? bits[at - static_cast<std::size_t>(columns)] : on;
      }
    }
  }
  /// Bits outside of the table are clear; an extent of 1 serves all.
  bool operator()(index_t b, index_t h, index_t r, index_t c) const {
    if (r < 0 || r >= rows || c >= columns) return false;
    return bits[static_cast<std::size_t>(((b % B * H + h % H) * rows + r) * columns + c)] != 0;
  }
  index_t B, H, rows, columns;
  Pairs bits;
};
index_t floor_div(index_t a, index_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// The kind of a rectangle, pair by pair.
template <class Keep>
TileKind kind_of(const Keep& keep, index_t b, index_t h, index_t q0, index_t q1, index_t k0,
                 index_t k1) {
  index_t seen = 0;
  for (index_t q = q0; q < q1; ++q)
    for (index_t k = k0; k < k1; ++k) seen += keep(b, h, q, k) ? 1 : 0;
  if (seen == 0) return TileKind::skip;
  return seen == (q1 - q0) * (k1 - k0) ? TileKind::full : TileKind::partial;
}

/// keep() and classify() are exactly what `expected` says. Returns how often each kind came up.
template <class Mask, class Keep>
std::array<int, 3> expect_exact(const Mask& mask, const Keep& expected, index_t queries,
                                index_t keys, support::Random& random) {
  std::array<int, 3> counts{};
  for (int i = 0; i < 1500; ++i) {
    const index_t b = random.integer(0, 2), h = random.integer(0, 3);
    index_t q0 = random.integer(-9, queries + 9), q1 = q0 + random.integer(1, 140);
    index_t k0 = random.integer(0, keys + 9), k1 = k0 + random.integer(1, 80);
    if (random.chance(0.5)) {  // tiles of a kernel
      q0 = floor_div(q0, 64) * 64;
      k0 = k0 / 16 * 16;
      q1 = q0 + 64 * random.integer(1, 2);
      k1 = k0 + (16 << random.integer(0, 2));
    } else if (random.chance(0.3)) {
      q1 = q0 + 1;
    }
    const TileKind want = kind_of(expected, b, h, q0, q1, k0, k1);
    const TileKind got = mask.classify(b, h, q0, q1, k0, k1);
    EXPECT_EQ(got, want) << b << ' ' << h << ": " << q0 << ' ' << q1 << ", " << k0 << ' ' << k1;
    ++counts[static_cast<std::size_t>(got)];
    const index_t q = random.integer(q0, q1 - 1), k = random.integer(k0, k1 - 1);
    EXPECT_EQ(mask.keep(b, h, q, k), expected(b, h, q, k)) << q << ' ' << k;
    if (testing::Test::HasFailure()) break;
  }
  return counts;
}

BitRows bits_of(const Dense& dense) {
  BitRows bits(dense.B, dense.H, dense.rows, dense.columns);
  for (index_t b = 0; b < dense.B; ++b)
    for (index_t h = 0; h < dense.H; ++h)
      for (index_t r = 0; r < dense.rows; ++r)
        for (index_t c = 0; c < dense.columns; ++c)
          if (dense(b, h, r, c)) bits.set(b, h, r, c);
  return bits;
}

TEST(BlockMask, IsItsTable) {
  support::Random random(1);
  SCOPED_TRACE(random.seed());
  for (const auto& [rows, columns, query_block, key_block] :
       {std::tuple<index_t, index_t, index_t, index_t>{9, 70, 16, 3},
        {3, 33, 64, 64},
        {140, 200, 1, 1},
        {5, 31, 37, 100},
        {1, 1, 128, 128}})
    for (const index_t B : {1, 3})
      for (const index_t H : {1, 4}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", " << B << " " << H);
        const Dense dense(B, H, rows, columns, random);
        const BitRows bits = bits_of(dense);
        const Copy copy(bits.words());
        const BlockMask mask(bits.table(copy.memory.data()), query_block, key_block);
        const auto expected = [&, qb = query_block, kb = key_block](index_t b, index_t h, index_t q,
                                                                    index_t k) {
          return dense(b, h, floor_div(q, qb), k / kb);
        };
        const auto counts =
            expect_exact(mask, expected, rows * query_block, columns * key_block, random);
        if (columns > 1) {
          EXPECT_TRUE(counts[0] > 0 && counts[1] > 0 && counts[2] > 0);
        }
      }
  EXPECT_EQ(BlockMask{}.classify(0, 0, 0, 9, 0, 9), TileKind::skip);
  EXPECT_FALSE(BlockMask{}.keep(0, 0, 0, 0));
}

TEST(BitmapMask, IsItsBits) {
  support::Random random(2);
  SCOPED_TRACE(random.seed());
  for (const auto& [T, S] : {std::pair<index_t, index_t>{1, 1}, {64, 64}, {65, 127}, {200, 259}})
    for (const index_t B : {1, 3})
      for (const index_t H : {1, 4}) {
        SCOPED_TRACE(testing::Message() << T << " x " << S << ", " << B << " " << H);
        const Dense dense(B, H, T, S, random);
        const Bitmap bitmap(TensorView<const std::uint8_t, 4>(dense.bits.data(), {B, H, T, S}));
        const Copy words(bitmap.words()), summary(bitmap.summary_words());
        const auto* pairs = words.memory.data();
        const auto counts =
            expect_exact(bitmap.mask(pairs, summary.memory.data()), dense, T, S, random);
        if (T > 64) {
          EXPECT_TRUE(counts[0] > 0 && counts[1] > 0 && counts[2] > 0);
        }
        // Rows are those of the call's queries, which stand elsewhere in every sequence.
        const index_t first[3] = {11, -5, 70};
        const auto shifted = [&](index_t b, index_t h, index_t q, index_t k) {
          return dense(b, h, q - first[b], k);
        };
        expect_exact(bitmap.mask(VectorView<const index_t>(first, {3})), shifted, T + 40, S,
                     random);
      }
  EXPECT_EQ(BitmapMask{}.classify(0, 0, 0, 9, 0, 9), TileKind::skip);
}

TEST(BitMasks, CombineWithOthers) {
  support::Random random(3);
  const Dense blocks(1, 4, 9, 13, random), pairs(3, 1, 150, 190, random);
  const BitRows bits = bits_of(blocks);
  const Bitmap bitmap(3, 1, 150, 190, pairs);
  const BlockMask block(bits.table(), 16, 15);
  const BitmapMask pair = bitmap.mask();
  const SlidingWindow window(40);
  const auto check = [&](const auto& mask, const auto& expected) {
    for (int i = 0; i < 2000; ++i) {
      const index_t q0 = random.integer(0, 150), q1 = q0 + random.integer(1, 64);
      const index_t k0 = random.integer(0, 190), k1 = k0 + random.integer(1, 64);
      const TileKind want = kind_of(expected, 1, 2, q0, q1, k0, k1);
      const TileKind got = mask.classify(1, 2, q0, q1, k0, k1);
      EXPECT_TRUE(got == TileKind::partial || got == want);
      EXPECT_EQ(kind_of([&](auto... x) { return mask.keep(x...); }, 1, 2, q0, q1, k0, k1), want);
    }
  };
  const auto sees = [&](index_t b, index_t h, index_t q, index_t k) {
    return blocks(b, h, q / 16, k / 15);
  };
  check(block & pair, [&](index_t b, index_t h, index_t q, index_t k) {
    return sees(b, h, q, k) && pairs(b, h, q, k);
  });
  check((block | pair) & window, [&](index_t b, index_t h, index_t q, index_t k) {
    return (sees(b, h, q, k) || pairs(b, h, q, k)) && k <= q && k > q - 40;
  });
}

TEST(VisibleBlocks, AreThoseThatShowAnything) {
  const auto shows = [](const BitRows& blocks, index_t h, index_t r, index_t c) {
    return blocks.table().bit(0, h, static_cast<BitTable::Count>(r),
                              static_cast<BitTable::Count>(c));
  };
  const SlidingWindow window(30);
  const BitRows classified = visible_blocks(window, 1, 1, 150, 171, 32, 20);
  const Holes holes{};
  const BitRows asked = visible_blocks(holes, 1, 2, 20, 40, 2, 3);
  for (index_t r = 0; r < 5; ++r)
    for (index_t c = 0; c < 9; ++c) {
      const auto keep = [&](auto... x) { return window.keep(x...); };
      EXPECT_EQ(shows(classified, 0, r, c),
                kind_of(keep, 0, 0, 32 * r, min_index(32 * r + 32, 150), 20 * c,
                        min_index(20 * c + 20, 171)) != TileKind::skip);
    }
  for (index_t h = 0; h < 2; ++h)
    for (index_t r = 0; r < 10; ++r)
      for (index_t c = 0; c < 14; ++c)
        EXPECT_EQ(shows(asked, h, r, c),
                  kind_of([&](auto... x) { return holes.keep(x...); }, 0, h, 2 * r, 2 * r + 2,
                          3 * c, min_index(3 * c + 3, 40)) != TileKind::skip);
}

TEST(BitMasks, RefuseWhatCannotBe) {
  using support::message_of;
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(message_of<ShapeError>([] { BitRows(1, 0, 2, 3); }),
                  "extents are 1 x 0 x 2 x 3, expected at least 1 each"));
  const BitRows bits(1, 1, 2, 3);
  EXPECT_TRUE(has(message_of<ValueError>([&] { BlockMask(bits.table(), 0, 64); }),
                  "blocks of 0 queries and 64 keys, expected 1 to 2^31 - 1"));
  EXPECT_TRUE(has(message_of<ValueError>([&] { BlockMask(bits.table(), 64, index_t{1} << 30); }),
                  "2 x 3 blocks of 64 queries and 1073741824 keys, expected less than 2^31"));
  EXPECT_TRUE(has(message_of<ValueError>([] { visible_blocks(NoMask{}, 1, 1, 5, 5, 4, -1); }),
                  "blocks of 4 queries and -1 keys"));
}

/// Every attention function with a mask against the formula in double, and SIMD against scalar.
template <class Mask, class Keep>
void check_attention(Problem& p, Mask mask, const Keep& keep) {
  oracle::AttentionOptions expected;
  expected.keep = keep;
  expected.q_offset.assign(p.q_offset.begin(), p.q_offset.end());
  expected.kv_lengths.assign(p.kv_lengths.begin(), p.kv_lengths.end());
  const auto doubles = [](Problem::Tensor& t) { return t.values<oracle::Vec>(); };
  const auto want = oracle::attention(doubles(p.q), doubles(p.k), doubles(p.v),
                                      {p.s.B, p.s.T, p.s.S, p.s.N, p.s.K, p.s.H, p.s.Hv}, expected);
  const auto options = p.options(mask, NoScore{});
  Context<backend::ScalarCpu> scalar;
  Context<backend::SimdCpu> simd(threads(2));
  const Result reference = p.attend(scalar, options), naive = p.naive(scalar, options);
  for (const Result* r : {&reference, &naive}) {
    std::vector<double> budget(want.out.size());
    for (std::size_t i = 0; i < budget.size(); ++i) budget[i] = want.magnitude[i] * 0x1p-16;
    EXPECT_TRUE(support::all_within(r->out, want.out, budget));
    EXPECT_TRUE(support::all_close(r->lse, want.lse, 1e-4)) << "lse";
  }
  const auto tiles = p.cache<float>();
  const auto agrees = [](const Result& got, const Result& from) {
    if (has_fma) return same(got, from);
    return support::all_close(got.out, from.out, 2e-4);
  };
  EXPECT_TRUE(agrees(p.attend(simd, options), reference));
  EXPECT_TRUE(agrees(p.attend(simd, *tiles, options), reference)) << "tiles";
  EXPECT_TRUE(agrees(p.decode(simd, options), reference)) << "decode";
  EXPECT_TRUE(agrees(p.decode(simd, *tiles, options), reference)) << "decode, tiles";
  EXPECT_TRUE(agrees(p.naive(simd, options), naive)) << "naive";
}

TEST(BitMasks, InEveryAttentionFunction) {
  support::Random random(4);
  SCOPED_TRACE(random.seed());
  for (const index_t T : {1, 7, 150}) {
    Problem p({2, T, 300, 4, 2, 16, 9}, 3, random);
    p.kv_lengths = {300, 171};
    p.q_offset = {300 - T, 40};
    const Dense blocks(1, 4, 10, 13, random), pairs(2, 1, T, 300, random);
    const BitRows bits = bits_of(blocks);
    const BlockMask block(bits.table(), 32, 24);
    check_attention(p, CausalMask{} & block, [&](index_t b, index_t h, index_t q, index_t k) {
      return k <= q && blocks(b, h, q / 32, k / 24);
    });
    const Bitmap bitmap(2, 1, T, 300, pairs);
    check_attention(p, bitmap.mask(Problem::view_of(p.q_offset)),
                    [&](index_t b, index_t h, index_t q, index_t k) {
                      return pairs(b, h, q - p.q_offset[static_cast<std::size_t>(b)], k);
                    });
    check_attention(p, block | SlidingWindow(9), [&](index_t b, index_t h, index_t q, index_t k) {
      return blocks(b, h, q / 32, k / 24) || (k <= q && k > q - 9);
    });
  }
}

}  // namespace
}  // namespace attention_test
