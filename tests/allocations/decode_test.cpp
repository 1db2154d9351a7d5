// After the first step no decode step allocates.
#include <gtest/gtest.h>

#include <ashlar/simd.hpp>
#if defined(_OPENMP)
#  include <ashlar/openmp.hpp>
#endif

#include "nn/blocks.hpp"
#include "support/allocations.hpp"

namespace allocations_test {
namespace {

using namespace ashlar;
using nn_test::Floats;

/// Two workers: OpenMP's where it is there, else one after the other.
Executor workers(int count) {
#if defined(_OPENMP)
  return openmp_executor(count);
#else
  return {&Executor::run_serial, nullptr, count};
#endif
}

/// Allocations of `steps` steps of one token after a prompt and one step.
template <class Spec, class Backend>
long decode(int count, int steps) {
  using Model = CausalLm<Spec>;
  typename Model::Config c;
  const nn_test::Sizes sizes{{48, 6, 2, 8, 0, 80}, 8, RopePairing::half_split, false};
  c.layers.assign(3, nn_test::block_config<Spec>(sizes));
  c.vocabulary = 61;
  c.d_model = 48;
  c.registers = 2;
  if constexpr (requires { c.position.positions; }) c.position.positions = 400;
  typename Model::Weights w;
  nn_test::WeightStore store(1);
  Model::visit(w, c, store);

  Context<Backend> ctx(workers(count));
  typename Model::State state(c, 2, 400);
  std::vector<std::int32_t> ids(2 * 70, 7);
  Floats hidden(2 * 70 * 48), logits(2 * 61);
  const auto run = [&](index_t tokens) {
    Model::forward(ctx, c, w, state, {ids.data(), {2, tokens}},
                   MatrixView<float>(hidden.data(), {2 * tokens, 48}));
    Model::head(ctx, c, w, MatrixView<const float>(hidden.data(), {2, 48}),
                {logits.data(), {2, 61}});
  };
  run(70);
  run(1);
  return support::count_allocations([&] {
    for (int i = 0; i < steps; ++i) run(1);
  });
}

TEST(DecodeStep, DoesNotAllocate) {
  using backend::SimdCpu, backend::ScalarCpu;
  for (const int count : {1, 2}) {
    SCOPED_TRACE(testing::Message() << count << " workers");
    EXPECT_EQ((decode<LlamaSpec, SimdCpu>(count, 300)), 0);  // over tiles and spans of keys
    EXPECT_EQ((decode<Gpt2Spec, SimdCpu>(count, 20)), 0);
    EXPECT_EQ((decode<NineSwapsSpec, SimdCpu>(count, 20)), 0);
    EXPECT_EQ((decode<LlamaSpec, ScalarCpu>(count, 20)), 0);
  }
}

TEST(DecodeStep, IsCountedByACounterThatCounts) {
  EXPECT_EQ(support::count_allocations([] { Buffer<float> memory(3); }), 1);
}

}  // namespace
}  // namespace allocations_test
