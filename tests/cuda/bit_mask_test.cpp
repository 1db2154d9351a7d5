// Masks from tables of bits in the kernels, emulated, against the oracle.
#include <ashlar/attention/mask/bitmap_mask.hpp>
#include <ashlar/attention/mask/block_mask.hpp>
#include <ashlar/cuda/attention_combine.hpp>
#include <ashlar/cuda/attention_decode.hpp>
#include <ashlar/cuda/attention_fallback.hpp>

#include "attention_case.hpp"
#include "functors.hpp"

namespace {

using namespace ashlar;
using cuda_test::AttentionCase;
using emulation::Copies;
using oracle::AttentionShape;

/// Blocks of 64 queries and 32 keys, other ones for every head; pairs at random.
struct Tables {
  static bool sees_block(index_t h, index_t r, index_t c) { return (3 * r + 5 * c + h) % 7 < 3; }
  static bool sees_pair(index_t b, index_t t, index_t k) {
    // Runs of 40 keys, whole tiles among them.
    return t / 70 == 1 ? k < 130 : (t * 7 + k / 40 * 3 + b) % 4 < 2 || k % 11 == t % 11;
  }
  explicit Tables(index_t batch, index_t heads, index_t queries, index_t keys)
      : blocks(1, heads, ceil_div(queries, 64), ceil_div(keys, 32)),
        pairs(batch, 1, queries, keys,
              [](index_t b, index_t, index_t t, index_t k) { return sees_pair(b, t, k); }) {
    for (index_t h = 0; h < heads; ++h)
      for (index_t r = 0; 64 * r < queries; ++r)
        for (index_t c = 0; 32 * c < keys; ++c)
          if (sees_block(h, r, c)) blocks.set(0, h, r, c);
  }
  BlockMask block() const { return {blocks.table(), 64, 32}; }

  BitRows blocks;
  Bitmap pairs;
};

/// Calls f(mask, what the mask shows).
template <class F>
void for_each_mask(const Tables& tables, F f) {
  f(tables.block() & CausalMask{}, [](index_t, index_t h, index_t q, index_t k) {
    return Tables::sees_block(h, q / 64, k / 32) && k <= q;
  });
  f(tables.pairs.mask(),
    [](index_t b, index_t, index_t q, index_t k) { return Tables::sees_pair(b, q, k); });
  f(tables.block() | (tables.pairs.mask() & SlidingWindow(50)),
    [](index_t b, index_t h, index_t q, index_t k) {
      return Tables::sees_block(h, q / 64, k / 32) ||
             (Tables::sees_pair(b, q, k) && k <= q && k > q - 50);
    });
}

TEST(BitMasks, OnTensorCores) {
  const AttentionShape shape{2, 150, 270, 4, 2, 64, 64};
  const Tables tables(2, 4, 270, 270);
  for_each_mask(tables, [&](auto mask, auto keep) {
    oracle::AttentionOptions o;
    o.keep = keep;
    o.kv_lengths = {270, 201};
    AttentionCase<bfloat16> c(shape, o);
    const auto p = c.padded(mask, NoScore{});
    c.template expect_oracle<cuda::AttentionForward<decltype(p), 64, 64>>(p, {Copies::lazy, 2});
  });
}

TEST(BitMasks, InTheFallback) {
  const AttentionShape shape{2, 150, 270, 4, 2, 7, 5};
  const Tables tables(2, 4, 270, 270);
  for_each_mask(tables, [&](auto mask, auto keep) {
    oracle::AttentionOptions o;
    o.keep = keep;
    AttentionCase<float> c(shape, o);
    const auto p = c.padded(mask, NoScore{}, 1);
    c.template expect_oracle<cuda::AttentionFallback<decltype(p)>>(p, {Copies::lazy, 3});
  });
}

TEST(BitMasks, InDecoding) {
  const AttentionShape shape{2, 3, 400, 4, 2, 64, 64};
  const Tables tables(2, 4, 400, 400);
  for_each_mask(tables, [&](auto mask, auto keep) {
    oracle::AttentionOptions o;
    o.keep = keep;
    o.kv_lengths = {400, 77};
    AttentionCase<half> c(shape, o);
    auto p = c.padded(mask, NoScore{});
    support::PoisonedBuffer<float> out(2 * 4 * 3 * 4 * 64);
    support::PoisonedBuffer<SoftmaxState<float>> state(2 * 4 * 3 * 4);
    const cuda::DecodeArguments<decltype(p)> a{p, {out.data(), state.data(), 4, 128}};
    emulation::launch<cuda::AttentionDecode<decltype(p), 64, 64>>(a);
    c.template expect_oracle<cuda::AttentionCombine<decltype(p)>>(a);
  });
}

TEST(BitMasks, HiddenBlocksAreNotRead) {
  // A key block in eight, the same for all: of 512 keys one tile of 64.
  BitRows blocks(1, 1, 1, 8);
  blocks.set(0, 0, 0, 3);
  oracle::AttentionOptions o;
  o.keep = [](index_t, index_t, index_t, index_t k) { return k / 64 == 3; };
  AttentionCase<bfloat16> c({1, 128, 512, 1, 1, 64, 64}, o);
  const auto p = c.padded(BlockMask(blocks.table(), 512, 64), NoScore{});
  const auto counters =
      c.template expect_oracle<cuda::AttentionForward<decltype(p), 64, 64>>(p, {});
  // Chunks of 16 bytes: 128 rows of Q, 64 of K and of V, 8 chunks each.
  EXPECT_EQ(counters.copies, emulation::is_emulated ? (128u + 64 + 64) * 8 : 0u);
}

}  // namespace
