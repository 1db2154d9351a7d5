// Whole blocks give the same bits however the tokens are cut, on any number of threads, in any
// batch, on scalar and SIMD kernels.
#include <gtest/gtest.h>

#include <ashlar/simd.hpp>

#include "blocks.hpp"

namespace nn_test {
namespace {

using namespace ashlar;

const Sizes sizes[] = {
    {{33, 6, 2, 7, 5, 17}, 4, RopePairing::interleaved, true, 70},
    {{24, 3, 3, 12, 0, 31}, 12, RopePairing::half_split, false, 3},
};

template <class Spec>
class BlockBits : public testing::Test {};
using Specs = testing::Types<LlamaSpec, Gpt2Spec, NineSwapsSpec, OwnSpec>;
TYPED_TEST_SUITE(BlockBits, Specs);

TYPED_TEST(BlockBits, ChunksAreTheWhole) {
  for (const Sizes& s : sizes) {
    const BlockProblem<TypeParam> p(s, 2, 131, 5);
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd(threads(2));
    const Floats whole = p.forward(simd);
    for (const index_t chunk : {1, 3, 7, 64, 131})
      EXPECT_TRUE(same(p.in_chunks(simd, chunk), whole)) << "chunks of " << chunk;
    const Floats reference = p.forward(scalar);
    EXPECT_TRUE(same(p.in_chunks(scalar, 7), reference)) << "scalar";
    EXPECT_TRUE(same(p.in_chunks(scalar, 131), reference)) << "scalar";
    EXPECT_TRUE(same(whole, reference)) << "scalar and simd";
    std::printf("hash %016llx\n", static_cast<unsigned long long>(support::hash_bits(whole)));
  }
}

TYPED_TEST(BlockBits, ThreadsDoNotMatter) {
  const BlockProblem<TypeParam> p(sizes[0], 3, 67, 6);
  Context<backend::SimdCpu> one;
  Context<backend::ScalarCpu> scalar_one;
  const Floats expected = p.in_chunks(one, 64), reference = p.forward(scalar_one);
  for (const int workers : {2, 3}) {
    Context<backend::SimdCpu> simd(threads(workers));
    Context<backend::ScalarCpu> scalar(threads(workers));
    EXPECT_TRUE(same(p.in_chunks(simd, 64), expected)) << workers;
    EXPECT_TRUE(same(p.in_chunks(simd, 1), expected)) << workers << ", decode";
    EXPECT_TRUE(same(p.forward(scalar), reference)) << workers << ", scalar";
  }
}

TYPED_TEST(BlockBits, NeighboursInTheBatchDoNotMatter) {
  BlockProblem<TypeParam> p(sizes[0], 9, 13, 7);
  Context<backend::SimdCpu> ctx;
  const Floats all = p.in_chunks(ctx, 5), inputs = p.x;
  const auto row = static_cast<std::ptrdiff_t>(p.T * p.c.dims.d_model);
  for (const index_t batch : {1, 2, 3})
    for (index_t first = 0; first + batch <= 9; first += batch) {
      p.B = batch;
      p.x.assign(inputs.begin() + first * row, inputs.begin() + (first + batch) * row);
      const Floats expected(all.begin() + first * row, all.begin() + (first + batch) * row);
      EXPECT_TRUE(same(p.in_chunks(ctx, 13), expected)) << batch << " from " << first;
    }
}

/// 16-bit caches round keys and values once, when stored: the same for every cut and backend.
template <class E>
void check_stored(double tolerance) {
  const BlockProblem<LlamaWith<E>> p(sizes[0], 2, 131, 8);
  Context<backend::ScalarCpu> scalar;
  Context<backend::SimdCpu> simd;
  const Floats whole = p.in_chunks(simd, 131);
  for (const index_t chunk : {1, 7, 64})
    EXPECT_TRUE(same(p.in_chunks(simd, chunk), whole)) << "chunks of " << chunk;
  EXPECT_TRUE(same(p.in_chunks(scalar, 64), whole)) << "scalar";
  const oracle::Vec exact = oracle::decoder_block(
      {p.x.begin(), p.x.end()}, p.B, p.T,
      oracle_config<LlamaSpec>(block_config<LlamaSpec>(sizes[0])), p.store.block());
  EXPECT_TRUE(support::all_close_to_largest(whole, exact, tolerance));
  EXPECT_FALSE(support::all_close_to_largest(whole, exact, tolerance / 100)) << "was it rounded?";
}
TEST(StoredCache, Half) { check_stored<half>(3e-4); }
TEST(StoredCache, Bfloat16) { check_stored<bfloat16>(3e-3); }

TEST(StoredCache, Double) {
  const BlockProblem<LlamaWith<double>> p(sizes[0], 2, 70, 9);
  Context<backend::ScalarCpu> ctx;
  const auto whole = p.forward<double>(ctx);
  EXPECT_TRUE(same(p.in_chunks<double>(ctx, 7), whole));
  EXPECT_TRUE(same(p.in_chunks<double>(ctx, 1), whole));
}

}  // namespace
}  // namespace nn_test
