// Attention of f32 by tf32 on the emulated device, against the oracle.
#include <gtest/gtest.h>

#include <ashlar/cuda/attention_arguments.hpp>
#include <ashlar/cuda/attention_tf32.hpp>

#include "attention_case.hpp"
#include "functors.hpp"
#include "on_device.hpp"

namespace {

using namespace ashlar;
using cuda_test::AttentionCase;
using emulation::Copies;

constexpr emulation::Schedule schedules[] = {{Copies::lazy, 1}, {Copies::eager, 2}};

oracle::AttentionOptions causal() {
  oracle::AttentionOptions o;
  o.causal = true;
  return o;
}

/// Both factors of a product are half a unit of 11 bits off at most.
template <int Dk, int Dv, class Problem>
void expect_attention(AttentionCase<float>& c, const Problem& problem,
                      emulation::Schedule schedule = {}) {
  c.score_rounding = 0x1.01p-11;
  c.value_rounding = 0x1.01p-11;
  c.expect_oracle<cuda::AttentionTf32<Problem, Dk, Dv>>(problem, schedule);
}

TEST(Tf32, WidthsAndLengthsAroundTheTiles) {
  for (const index_t H : {4, 60, 64})
    for (const index_t T : {1, 16, 65})
      for (const index_t S : {1, 31, 32, 65}) {
        SCOPED_TRACE(testing::Message() << "H " << H << ", T " << T << ", S " << S);
        AttentionCase<float> c({1, T, S, 2, 1, H, 64 - H + 4}, causal());
        expect_attention<64, 64>(c, c.padded(CausalMask{}, NoScore{}), schedules[(T + S) % 2]);
      }
  for (const index_t H : {68, 128}) {
    AttentionCase<float> c({1, 70, 83, 2, 2, H, 196 - H}, causal());
    expect_attention<128, 128>(c, c.padded(CausalMask{}, NoScore{}), schedules[H % 3 % 2]);
  }
}

TEST(Tf32, GroupsLengthsSinksMasksAndScores) {
  oracle::AttentionOptions o = causal();
  o.q_lengths = {20, 33};
  o.kv_lengths = {77, 40};
  o.sinks = {0.5, -1, 2, 0};
  AttentionCase<float> lengths({2, 33, 80, 4, 2, 32, 48}, o, 5);
  expect_attention<64, 64>(lengths, lengths.padded(CausalMask{}, NoScore{}), schedules[0]);

  oracle::AttentionOptions window = causal();
  window.window = 20;
  window.softcap = 3;
  AttentionCase<float> capped({1, 70, 90, 2, 1, 64, 64}, window, 6);
  expect_attention<64, 64>(capped, capped.padded(SlidingWindow(20), SoftCap{3.f}), schedules[1]);

  oracle::AttentionOptions ragged = causal();
  ragged.kv_lengths = {100, 61};
  AttentionCase<float> paged({2, 9, 100, 2, 1, 64, 64}, ragged, 7);
  expect_attention<64, 64>(paged, paged.paged(CausalMask{}, NoScore{}, 4), schedules[0]);
  AttentionCase<float> packed({2, 40, 50, 2, 1, 64, 64}, causal(), 8);
  expect_attention<64, 64>(packed, packed.packed(CausalMask{}, NoScore{}), schedules[1]);
}

TEST(Tf32, ANegativeScale) {
  oracle::AttentionOptions o;
  o.scale = -0.25;
  AttentionCase<float> c({1, 20, 40, 1, 1, 16, 16}, o, 9);
  auto problem = c.padded(NoMask{}, NoScore{});
  expect_attention<64, 64>(c, problem, schedules[0]);
}

TEST(Tf32, TakesWhatItCan) {
  AttentionCase<float> c({1, 4, 4, 1, 1, 64, 64}, {});
  auto p = c.padded(NoMask{}, NoScore{});
  EXPECT_EQ(cuda::why_not_tf32(p, 80), "");
  EXPECT_EQ(cuda::why_not_tf32(p, 75), "the device is older than sm_80");
  AttentionCase<float> odd({1, 4, 4, 1, 1, 62, 64}, {});
  EXPECT_EQ(cuda::why_not_tf32(odd.padded(NoMask{}, NoScore{}), 80),
            "a head's elements are no multiple of 4");
  AttentionCase<float> wide({1, 4, 4, 1, 1, 64, 132}, {});
  EXPECT_EQ(cuda::why_not_tf32(wide.padded(NoMask{}, NoScore{}), 80),
            "a head has more than 128 elements");
  EXPECT_EQ(cuda::why_not_tf32(c.padded(NoMask{}, NoScore{}, 3), 80),
            "rows do not begin at multiples of 16 bytes");
}

/// The function that programs call takes the kernel when it is asked for tf32, and only then.
TEST(Tf32, IsOffUntilAskedFor) {
  AttentionCase<float> c({1, 20, 40, 2, 1, 64, 64}, causal());
  const auto p = c.padded(CausalMask{}, NoScore{});
  const auto error = [&](cuda::FloatProducts products) {
    cuda_test::on_device(p, 0, [products](auto& ctx, const auto& there) {
      ctx.set_float_products(products);
      cuda_test::call_attention(ctx, there);
    });
    c.compare();
    return c.largest_error;
  };
  EXPECT_LT(error(cuda::FloatProducts::exact), 1e-6);
  c.score_rounding = c.value_rounding = 0x1.01p-11;
  const double rounded = error(cuda::FloatProducts::tf32);
  EXPECT_GT(rounded, 1e-5);
  EXPECT_LT(rounded, 1e-3);
}

}  // namespace
