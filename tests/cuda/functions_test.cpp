// The attention functions of ashlar/cuda.hpp as a program calls them: whatever kernel they choose
// must meet the oracle.
#include <gtest/gtest.h>

#include "attention_case.hpp"
#include "functors.hpp"
#include "on_device.hpp"
#include "support/message.hpp"

namespace {

using namespace ashlar;
using cuda_test::AttentionCase, cuda_test::call_attention, cuda_test::call_decode,
    cuda_test::on_device;
using oracle::AttentionShape;

oracle::AttentionOptions causal(std::vector<index_t> kv_lengths = {}) {
  oracle::AttentionOptions o;
  o.causal = true;
  o.kv_lengths = std::move(kv_lengths);
  return o;
}
template <class T, class Problem>
void expect_attention(AttentionCase<T>& c, const Problem& p) {
  on_device(p, 0, [](auto& ctx, const Problem& there) { call_attention(ctx, there); });
  c.compare();
}
template <class T, class Problem>
void expect_decode(AttentionCase<T>& c, const Problem& p) {
  on_device(p, cuda::decode_workspace_bytes(p),
            [](auto& ctx, const Problem& there) { call_decode(ctx, there); });
  c.compare();
}

/// Emulated, a few rows must do.
AttentionShape sized(index_t B, index_t T, index_t S, index_t N, index_t K, index_t H, index_t Hv) {
  if (!emulation::is_emulated) return {B, T, S, N, K, H, Hv};
  return {1, min_index(T, 66), min_index(S, 70), N / K, 1, H, Hv};
}

TEST(Functions, AttentionOfEveryWidth) {
  for (const auto& [H, Hv] : std::vector<std::pair<index_t, index_t>>{
           {64, 64}, {128, 128}, {192, 128}, {256, 256}, {40, 56}, {96, 80}, {192, 192}}) {
    SCOPED_TRACE(testing::Message() << "H " << H << ", Hv " << Hv);
    AttentionCase<bfloat16> c(sized(2, 130, 200, 4, 2, H, Hv), causal());
    expect_attention(c, c.padded(CausalMask{}, NoScore{}));
  }
}

TEST(Functions, AttentionWithoutGaps) {  // as a bulk copy of whole tiles wants it
  for (const index_t H : {64, 128, 256})
    for (const index_t T : {1, 64, 200, 1000}) {
      if (emulation::is_emulated && T > 1) continue;
      SCOPED_TRACE(testing::Message() << "H " << H << ", T " << T);
      AttentionCase<bfloat16> c(sized(1, T, 300, 2, 1, H, H), causal());
      expect_attention(c, c.padded(CausalMask{}, NoScore{}, 0));
    }
  AttentionCase<half> full(sized(2, 193, 257, 4, 4, 128, 128), {});
  expect_attention(full, full.padded(NoMask{}, NoScore{}, 0));
}

TEST(Functions, LengthsSinksAndScores) {
  oracle::AttentionOptions o = causal({150, 0, 77});
  o.q_lengths = {70, 3, 0};
  o.sinks = {0.5, -3, 4, 0};
  AttentionCase<bfloat16> lengths({3, 70, 150, 4, 2, 64, 64}, o);
  expect_attention(lengths, lengths.padded(CausalMask{}, NoScore{}));
  oracle::AttentionOptions capped;
  capped.window = 50;
  capped.causal = true;
  capped.softcap = 2;
  AttentionCase<bfloat16> scores({1, 150, 150, 4, 2, 128, 128}, capped);
  expect_attention(scores, scores.padded(SlidingWindow(50), SoftCap(2.f)));
}

TEST(Functions, PackedAndPaged) {
  oracle::AttentionOptions o = causal({150, 77, 40, 12, 64});
  o.q_lengths = {70, 1, 33, 0, 64};
  AttentionCase<bfloat16> packed({5, 70, 150, 4, 2, 64, 64}, o);
  expect_attention(packed, packed.packed(CausalMask{}, NoScore{}));
  for (const int log2_page : {0, 4, 6}) {
    AttentionCase<bfloat16> paged({3, 33, 150, 4, 2, 128, 128}, causal({150, 77, 1}));
    expect_attention(paged, paged.paged(CausalMask{}, NoScore{}, log2_page));
  }
}

TEST(Functions, WhatTensorCoresDoNotTake) {
  AttentionCase<float> f({1, 40, 70, 2, 1, 64, 64}, causal());
  expect_attention(f, f.padded(CausalMask{}, NoScore{}));
  AttentionCase<bfloat16> odd({1, 40, 70, 2, 1, 36, 52}, causal());
  expect_attention(odd, odd.padded(CausalMask{}, NoScore{}));
  AttentionCase<bfloat16> unaligned({1, 40, 70, 2, 1, 64, 64}, causal());
  expect_attention(unaligned, unaligned.padded(CausalMask{}, NoScore{}, 1));
}

TEST(Functions, Decode) {
  for (const index_t H : {64, 128, 256}) {
    SCOPED_TRACE(testing::Message() << "H " << H);
    AttentionCase<bfloat16> c({3, 1, 1100, 8, 2, H, H}, causal({1100, 512, 513}));
    expect_decode(c, c.padded(CausalMask{}, NoScore{}));
  }
  AttentionCase<bfloat16> few({2, 4, 700, 4, 1, 128, 128}, causal({700, 5}));
  expect_decode(few, few.paged(CausalMask{}, NoScore{}, 4));
  AttentionCase<float> f({2, 1, 90, 4, 2, 24, 40}, causal({90, 33}));
  expect_decode(f, f.padded(CausalMask{}, NoScore{}));
}

TEST(Functions, ArgumentsAreRefusedBeforeALaunch) {
  AttentionCase<bfloat16> c({2, 1, 70, 4, 2, 64, 64}, causal());
  const auto p = c.padded(CausalMask{}, NoScore{});
  using Problem = std::remove_const_t<decltype(p)>;
  std::string shape, workspace;
  on_device(p, 256, [&](auto& ctx, const Problem& there) {
    shape = support::message_of<ShapeError>([&] {
      auto wrong = there;
      wrong.kv.k = there.kv.k.slice(2, 0, 1);
      call_attention(ctx, wrong);
    });
    workspace = support::message_of<ValueError>([&] { call_decode(ctx, there); });
  });
  EXPECT_NE(shape.find("v has shape"), std::string::npos) << shape;
  EXPECT_NE(workspace.find("workspace of at least"), std::string::npos) << workspace;
}

}  // namespace
