#include <gtest/gtest.h>

#include <ashlar/simd.hpp>
#include <limits>

#include "blocks.hpp"
#include "support/message.hpp"

namespace nn_test {
namespace {

using namespace ashlar;
using support::message_of;

template <class E>
class KvCacheOf : public testing::Test {};
using Elements = testing::Types<float, half, bfloat16>;
TYPED_TEST_SUITE(KvCacheOf, Elements);

/// Keys and values [B, T, heads, width] as plain memory.
struct Rows {
  Rows(index_t B, index_t T, index_t heads, index_t width, std::uint64_t salt)
      : values(support::Random(salt).normals<float>(B * T * heads * width)),
        view(values.data(), {B, T, heads, width}) {}
  Floats values;
  TensorView<const float, 4> view;
};

/// NaN in every slot of the cache, used or not.
template <class E>
void poison(const KvCache<E>& cache) {
  const KvTiles<E> t = cache.tiles();
  const E nan(std::numeric_limits<float>::quiet_NaN());
  const index_t tiles = t.batches * t.kv_heads * t.tiles;
  std::fill_n(t.k_data, tiles * KvTiles<E>::k_tile_size(t.k_width), nan);
  std::fill_n(t.v_data, tiles * KvTiles<E>::v_tile_size(t.v_width), nan);
}

TYPED_TEST(KvCacheOf, HoldsWhatWasAppendedRoundedOnce) {
  KvCache<TypeParam> cache(2, 70, 3, 5, 33);
  const Rows k1(2, 3, 3, 5, 1), v1(2, 3, 3, 33, 2), k2(2, 67, 3, 5, 3), v2(2, 67, 3, 33, 4);
  cache.append(threads(2), k1.view, v1.view);
  cache.append(Executor{}, k2.view, v2.view);
  const auto tiles = cache.tiles();
  EXPECT_EQ(tiles.max_length(), 70);
  for (index_t b = 0; b < 2; ++b) {
    EXPECT_EQ(cache.length(b), 70);
    for (index_t s = 0; s < 70; ++s)
      for (index_t n = 0; n < 3; ++n) {
        const auto& k = s < 3 ? k1.view : k2.view;
        const auto& v = s < 3 ? v1.view : v2.view;
        const index_t row = s < 3 ? s : s - 3;
        for (index_t h = 0; h < 5; ++h)
          ASSERT_EQ(static_cast<float>(tiles.key(b, n, s, h)),
                    static_cast<float>(TypeParam(k(b, row, n, h))));
        for (index_t d = 0; d < 33; ++d)
          ASSERT_EQ(static_cast<float>(tiles.value(b, n, s, d)),
                    static_cast<float>(TypeParam(v(b, row, n, d))));
      }
  }
}

TYPED_TEST(KvCacheOf, RefusesWhatDoesNotFitAndStaysAsItWas) {
  KvCache<TypeParam> cache(2, 6, 1, 4, 4);
  const Rows three(2, 3, 1, 4, 1), four(2, 4, 1, 4, 2), other(1, 1, 1, 4, 3), wide(2, 1, 1, 5, 4);
  const Executor e;
  cache.append(e, three.view, three.view);
  EXPECT_EQ(message_of<ValueError>([&] { cache.append(e, four.view, four.view); }),
            "KvCache: 4 tokens after 3 do not fit the capacity of 6");
  EXPECT_EQ(message_of<ShapeError>([&] { cache.append(e, other.view, other.view); }),
            "KvCache::append: k has shape [1, 1, 1, 4], expected [2, 1, 1, 4]");
  EXPECT_EQ(message_of<ShapeError>([&] { cache.append(e, three.view, four.view); }),
            "KvCache::append: v has shape [2, 4, 1, 4], expected [2, 3, 1, 4]");
  EXPECT_EQ(message_of<ShapeError>([&] { cache.append(e, wide.view, wide.view); }),
            "KvCache::append: k has shape [2, 1, 1, 5], expected [2, 1, 1, 4]");
  EXPECT_EQ(message_of<ValueError>([&] { cache.truncate(-1); }), "KvCache: length is -1");
  EXPECT_EQ(cache.length(0), 3);
  EXPECT_EQ(cache.length(1), 3);
  cache.append(e, three.view, three.view);
  EXPECT_EQ(cache.length(1), 6);
}

TEST(KvCache, RefusesImpossibleSizes) {
  // The number of bytes of these wraps around to a small one.
  EXPECT_THROW(KvCache<float>(1, index_t{1} << 58, 1, 64, 64), ValueError);
  EXPECT_THROW(KvCache<float>(1, 64, index_t{1} << 32, index_t{1} << 32, 1), ValueError);
  EXPECT_THROW(KvCache<float>(1, 64, 1, 1, index_t{1} << 62), ValueError);
  EXPECT_EQ(message_of<ValueError>([] { KvCache<float>(1, -1, 2, 4, 4); }),
            "KvCache: 1 sequences of -1 tokens, 2 heads of 4 and 4 elements");
  EXPECT_NE(message_of<ValueError>([] { KvCache<float>(-1, 1, 2, 4, 4); }), "");
  EXPECT_NE(message_of<ValueError>([] { KvCache<float>(1, 1, 0, 4, 4); }), "");
  EXPECT_NE(message_of<ValueError>([] { KvCache<float>(1, 1, 1, 0, 4); }), "");
  EXPECT_EQ(KvCache<half>(3, 65, 2, 5, 33).bytes(), 3 * 2 * 2 * 64 * (5 + 64) * 2);
}

const Sizes sizes{{33, 6, 2, 7, 5, 17}, 4, RopePairing::interleaved, true};

TYPED_TEST(KvCacheOf, NothingBehindItsLengthMatters) {
  using Block = DecoderBlock<LlamaWith<TypeParam>>;
  const BlockProblem<LlamaWith<TypeParam>> p(sizes, 2, 70, 1);
  Context<backend::ScalarCpu> scalar;
  Context<backend::SimdCpu> simd;
  const Floats expected = p.in_chunks(simd, 70), reference = p.in_chunks(scalar, 70);
  for (const index_t chunk : {1, 33, 70}) {
    auto state = Block::make_state(p.c, 2, 200);
    poison(state);
    EXPECT_TRUE(support::same_bits(p.in_chunks(simd, chunk, state), expected)) << chunk;
    state.truncate(0);
    poison(state);
    EXPECT_TRUE(support::same_bits(p.in_chunks(scalar, chunk, state), reference)) << chunk;
  }
}

TYPED_TEST(KvCacheOf, TruncatedIsAsIfNeverLonger) {
  using Block = DecoderBlock<LlamaWith<TypeParam>>;
  BlockProblem<LlamaWith<TypeParam>> p(sizes, 2, 70, 2);
  Context<backend::SimdCpu> ctx;
  const Floats fresh = p.in_chunks(ctx, 70);
  auto state = Block::make_state(p.c, 2, 70);
  p.in_chunks(ctx, 7, state);
  state.truncate(100);
  EXPECT_EQ(state.length(0), 70);
  state.truncate(0);
  EXPECT_EQ(state.length(1), 0);
  EXPECT_TRUE(support::same_bits(p.in_chunks(ctx, 70, state), fresh));

  // Back to token 65, then the last five again.
  state.truncate(65);
  const index_t D = p.c.dims.d_model;
  Floats last, expected;
  for (index_t b = 0; b < 2; ++b)
    for (index_t i = (b * 70 + 65) * D; i < (b + 1) * 70 * D; ++i) {
      last.push_back(p.x[static_cast<std::size_t>(i)]);
      expected.push_back(fresh[static_cast<std::size_t>(i)]);
    }
  Block::forward(ctx, p.c, p.w, TokenBatch(2, 5, 65), &state, p.view(last, 10));
  EXPECT_TRUE(support::same_bits(last, expected));
}

}  // namespace
}  // namespace nn_test
