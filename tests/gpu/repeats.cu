// What only a real device can show: 50 runs with the same bits, and ops in a CUDA graph, in whose
// capture nothing may allocate or wait.
#include <gtest/gtest.h>

#include "cuda/attention_case.hpp"
#include "cuda/functors.hpp"
#include "cuda/on_device.hpp"

namespace {

using namespace ashlar;
using cuda_test::AttentionCase, cuda_test::call_attention, cuda_test::call_decode, cuda_test::Gpu;
using gpu_test::Memory, gpu_test::Mirror;

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

oracle::AttentionOptions causal() {
  oracle::AttentionOptions o;
  o.causal = true;
  return o;
}

/// 50 runs from the same memory leave the same bits everywhere.
template <class Problem, class Call>
void expect_same_bits(const Problem& problem, Call call) {
  auto& gpu = gpu_test::gpu();
  const Memory workspace(gpu, workspace_bytes);
  Gpu ctx(gpu.device, gpu.stream, workspace.data(), workspace_bytes);
  Mirror<gpu_test::Gpu> mirror(gpu);
  const Problem there = mirror.moved(problem);
  std::vector<std::vector<std::byte>> first;
  for (int i = 0; i < 50; ++i) {
    mirror.send();
    call(ctx, there);
    ctx.synchronize();
    auto now = mirror.fetch();
    if (i == 0)
      first = std::move(now);
    else
      ASSERT_TRUE(now == first) << "run " << i << " gave other bits than the first";
  }
}

template <class T>
void expect_same_bits_of(oracle::AttentionShape attention, oracle::AttentionShape decode) {
  AttentionCase<T> a(attention, causal()), d(decode, causal());
  expect_same_bits(a.padded(CausalMask{}, NoScore{}, 0),
                   [](Gpu& ctx, const auto& p) { call_attention(ctx, p); });
  expect_same_bits(d.padded(CausalMask{}, NoScore{}, 0),
                   [](Gpu& ctx, const auto& p) { call_decode(ctx, p); });
}
TEST(Repeats, FiftyRunsGiveTheSameBits) {
  expect_same_bits_of<bfloat16>({2, 1000, 1000, 8, 2, 128, 128}, {3, 1, 5000, 16, 4, 128, 128});
  expect_same_bits_of<bfloat16>({1, 1111, 1111, 8, 8, 64, 64}, {2, 4, 3000, 8, 8, 64, 64});
  expect_same_bits_of<half>({1, 700, 900, 4, 4, 256, 256}, {2, 1, 2000, 8, 1, 256, 256});
  expect_same_bits_of<float>({1, 300, 300, 4, 2, 64, 64}, {1, 1, 600, 4, 2, 64, 64});
}
TEST(Repeats, FiftyPagedRunsGiveTheSameBits) {
  AttentionCase<bfloat16> c({3, 1, 3000, 8, 2, 128, 128}, causal());
  expect_same_bits(c.paged(CausalMask{}, NoScore{}, 4),
                   [](Gpu& ctx, const auto& p) { call_decode(ctx, p); });
}

TEST(Graph, AttentionAndDecodeReplayOnNewInputs) {
  AttentionCase<bfloat16> prompt({1, 130, 200, 4, 2, 128, 128}, causal(), 1);
  AttentionCase<bfloat16> token({2, 1, 1500, 8, 2, 64, 64}, causal(), 2);
  auto& gpu = gpu_test::gpu();
  const Memory workspace(gpu, workspace_bytes);
  Gpu ctx(gpu.device, gpu.stream, workspace.data(), workspace_bytes);
  auto p = prompt.padded(CausalMask{}, NoScore{}, 0);
  auto t = token.padded(CausalMask{}, NoScore{}, 0);
  Mirror<gpu_test::Gpu> prompts(gpu), tokens(gpu);
  const auto p_there = prompts.moved(p);
  const auto t_there = tokens.moved(t);

  prompts.send();
  tokens.send();
  call_attention(ctx, p_there);  // once as they are: a kernel's first launch loads it
  call_decode(ctx, t_there);
  ctx.synchronize();
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cuda::check("cudaStreamBeginCapture",
              cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeGlobal));
  call_attention(ctx, p_there);
  call_decode(ctx, t_there);
  cuda::check("cudaStreamEndCapture", cudaStreamEndCapture(gpu.stream, &graph));
  cuda::check("cudaGraphInstantiate", cudaGraphInstantiate(&ready, graph, 0));
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(testing::Message() << "replay " << round);
    if (round > 0) {  // the same graph, other numbers
      for (double& x : prompt.q) x = -x;
      for (double& x : token.q) x = -x;
      for (bfloat16& x : std::span(const_cast<bfloat16*>(p.q.data()), prompt.q.size()))
        x = bfloat16::from_bits(static_cast<std::uint16_t>(x.bits ^ 0x8000u));
      for (bfloat16& x : std::span(const_cast<bfloat16*>(t.q.data()), token.q.size()))
        x = bfloat16::from_bits(static_cast<std::uint16_t>(x.bits ^ 0x8000u));
    }
    prompts.send();
    tokens.send();
    cuda::check("cudaGraphLaunch", cudaGraphLaunch(ready, gpu.stream));
    ctx.synchronize();
    const auto replayed_prompt = prompts.fetch(), replayed_token = tokens.fetch();
    prompts.keep(replayed_prompt);
    tokens.keep(replayed_token);
    prompt.compare();
    token.compare();
    // And at once, outside of a graph: the same bits. Both begin with the results of the replay.
    call_attention(ctx, p_there);
    call_decode(ctx, t_there);
    ctx.synchronize();
    EXPECT_TRUE(prompts.fetch() == replayed_prompt);
    EXPECT_TRUE(tokens.fetch() == replayed_token);
  }
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
}

}  // namespace
