// Whole blocks against the oracle in double, on every CPU backend.
#include <gtest/gtest.h>

#include <ashlar/eigen.hpp>

#include "blocks.hpp"

namespace nn_test {
namespace {

using namespace ashlar;

struct Case {
  index_t B, T;
  Sizes sizes;
};

constexpr auto half_split = RopePairing::half_split, interleaved = RopePairing::interleaved;

// {D, N, K, H, Hv, F}: odd everywhere; grouped, multi-query and multi-head; H != D / N; Hv != H;
// parts of a head turned; more than one block of 256 summed; more than one tile and span of keys.
const Case cases[] = {
    {1, 1, {{4, 1, 1, 2, 0, 3}, 2, half_split, false}},
    {2, 5, {{24, 4, 2, 6, 0, 31}, 6, half_split, false}},
    {3, 9, {{33, 6, 2, 7, 5, 17}, 4, interleaved, true}},
    {1, 67, {{40, 3, 1, 16, 33, 65}, 16, interleaved, false}},
    {2, 70, {{48, 5, 5, 12, 0, 70}, 2, half_split, true}},
    {1, 3, {{300, 2, 1, 65, 40, 517}, 64, half_split, true}},
    {1, 270, {{17, 3, 3, 5, 9, 11}, 4, interleaved, true}},
    {2, 11, {{19, 2, 1, 10, 0, 23}, 0, half_split, false}},
};

template <class Spec>
void check(std::uint64_t salt) {
  for (const Case& k : cases) {
    const BlockProblem<Spec> p(k.sizes, k.B, k.T, salt++);
    SCOPED_TRACE(testing::Message() << "B " << k.B << " T " << k.T << " D " << p.c.dims.d_model);
    const oracle::Vec expected = p.expected();
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd(threads(2));
    Context<backend::EigenCpu> eigen;

    EXPECT_TRUE(support::all_close_to_largest(p.template forward<double>(scalar), expected, 2e-14))
        << "f64";
    const Floats got = p.forward(scalar);
    EXPECT_TRUE(support::all_close_to_largest(got, expected, 1.5e-6)) << "scalar";
    EXPECT_LE(support::normalised_square_error(got, expected), 2e-13) << "scalar";
    if (has_fma) {
      EXPECT_TRUE(support::same_bits(p.forward(simd), got)) << "simd";
    } else {
      EXPECT_TRUE(support::all_close_to_largest(p.forward(simd), expected, 1.5e-6)) << "simd";
    }
    EXPECT_TRUE(support::all_close_to_largest(p.forward(eigen), expected, 3e-6)) << "eigen";
  }
}

TEST(Block, LlamaAgreesWithTheOracle) { check<LlamaSpec>(10); }
TEST(Block, Gpt2AgreesWithTheOracle) { check<Gpt2Spec>(30); }
TEST(Block, NineSwapsAgreeWithTheOracle) { check<NineSwapsSpec>(50); }
TEST(Block, OwnSpecAgreesWithTheOracle) { check<OwnSpec>(70); }

}  // namespace
}  // namespace nn_test
