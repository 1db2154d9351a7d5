// Norms of rows on the emulated device, against the oracle and the scalar kernels.
#include <gtest/gtest.h>

#include <ashlar/cuda/norm_rows.hpp>
#include <ashlar/ops/layer_norm.hpp>
#include <ashlar/ops/residual_add.hpp>
#include <ashlar/ops/rms_norm.hpp>

#include "oracle/norms.hpp"
#include "row_case.hpp"

namespace {

using namespace ashlar;
using cuda::NormKind;
using cuda_test::Channels, cuda_test::half_ulp, cuda_test::Rows, cuda_test::Vec;

constexpr index_t row_count = 3;

/// Inputs of a norm, and what the device makes of them.
template <class T>
struct NormCase {
  index_t width, gap;
  support::Random random{static_cast<std::uint64_t>(width)};
  double offset = 0;
  std::vector<T> x = cuda_test::numbers<T>(random, row_count* width, 1.5, offset);
  std::vector<T> branch = cuda_test::numbers<T>(random, row_count* width);
  std::vector<float> gain = cuda_test::numbers<float>(random, width, 0.3, 1);
  std::vector<float> bias = cuda_test::numbers<float>(random, width);
  std::vector<float> scale = cuda_test::numbers<float>(random, width, 0.1);
  bool has_gain = true, has_bias = true, has_scale = false;
  float eps = 1e-5f;
  std::vector<T> stream{};  // x after the addition of the branch

  template <NormKind Kind, class Gain, bool AddBranch, int Warps, int Held>
  std::vector<T> run(emulation::Schedule schedule = {}) {
    using Kernel = cuda::NormRows<Kind, T, Gain, AddBranch, Warps, Held>;
    Rows<T> in(row_count, width, gap, x), more(row_count, width, gap, branch);
    Rows<T> out(row_count, width, gap);
    const Channels<float> g(gain), b(bias), s(scale);
    typename Kernel::Arguments a;
    a.x = in.view();
    a.y = out.view();
    a.eps = eps;
    if (has_gain) a.gain = g.view();
    if (Kind == NormKind::layer && has_bias) a.bias = b.view();
    if (AddBranch) a.branch = more.in();
    if (AddBranch && has_scale) a.branch_scale = s.view();
    emulation::launch<Kernel>(a, schedule);
    EXPECT_TRUE(in.gaps_intact() && out.gaps_intact());
    stream = in.values();
    return out.values();
  }
  /// The scalar kernels' answer in T.
  template <NormKind Kind, class Gain>
  std::vector<T> on_host(bool add_branch) {
    Context<backend::ScalarCpu> ctx;
    std::vector<T> sum = x, y(x.size());
    const index_t shape[2] = {row_count, width}, one[1] = {width};
    const MatrixView<T> s(sum.data(), shape);
    using Channel = VectorView<const float>;
    if (add_branch)
      residual_add(ctx, MatrixView<const T>(branch.data(), shape),
                   has_scale ? Channel(scale.data(), one) : Channel{}, s);
    const Channel g = has_gain ? Channel(gain.data(), one) : Channel{};
    if constexpr (Kind == NormKind::rms)
      rms_norm<Gain>(ctx, MatrixView<const T>(s), g, MatrixView<T>(y.data(), shape), eps);
    else
      layer_norm<Gain>(ctx, MatrixView<const T>(s), g,
                       has_bias ? Channel(bias.data(), one) : Channel{},
                       MatrixView<T>(y.data(), shape), eps);
    if (add_branch) {
      EXPECT_TRUE(support::same_bits(stream, sum)) << "the stream";
    }
    return y;
  }
};

/// At least 98 of 100 elements are the scalar kernel's bits: sums in another order move a result
/// past the middle between two numbers of T now and then, another order of roundings all the time.
template <class T>
void expect_same_roundings(const std::vector<T>& got, const std::vector<T>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    different += static_cast<float>(got[i]) != static_cast<float>(expected[i]);
  EXPECT_LE(different, got.size() / 50 + 2);
}

template <class T, class Gain>
void expect_rms(index_t width, index_t gap) {
  SCOPED_TRACE(testing::Message() << "width " << width << ", gap " << gap);
  NormCase<T> c{width, gap};
  c.has_gain = !std::is_same_v<Gain, gain::None>;
  const auto got = c.template run<NormKind::rms, Gain, false, 2, 2>({{}, 3});
  const Vec expected = oracle::rms_norm(
      cuda_test::doubles(c.x), row_count, width, static_cast<double>(c.eps),
      c.has_gain ? cuda_test::doubles(c.gain) : Vec{}, std::is_same_v<Gain, gain::PlusOne>);
  EXPECT_TRUE(support::all_within(got, expected,
                                  cuda_test::budget(expected, 2.1 * half_ulp<T> + 2e-6, 1e-9)));
  if (sizeof(T) == 2) expect_same_roundings(got, c.template on_host<NormKind::rms, Gain>(false));
}

TEST(NormRows, RmsMeetsTheOracleAtAnyWidth) {
  for (const index_t width : {1, 7, 8, 63, 64, 129, 576, 1024, 2051, 2568})
    for (const index_t gap : {8, 3}) {
      expect_rms<float, gain::AfterRounding>(width, gap);
      expect_rms<bfloat16, gain::AfterRounding>(width, gap);
      expect_rms<half, gain::AfterRounding>(width, gap);
    }
}

TEST(NormRows, RmsRoundsAsTheRuleOfTheGainSays) {
  for (const index_t width : {576, 1003}) {
    expect_rms<bfloat16, gain::BeforeRounding>(width, 8);
    expect_rms<bfloat16, gain::PlusOne>(width, 8);
    expect_rms<bfloat16, gain::None>(width, 8);
    expect_rms<half, gain::BeforeRounding>(width, 8);
    expect_rms<half, gain::PlusOne>(width, 8);
    expect_rms<float, gain::PlusOne>(width, 8);
  }
}

template <class T, class Gain>
void expect_layer(index_t width, double offset, bool has_gain, bool has_bias) {
  SCOPED_TRACE(testing::Message() << "width " << width << ", offset " << offset);
  NormCase<T> c{width, 8};
  c.offset = offset;
  c.x = cuda_test::numbers<T>(c.random, row_count * width, 1.5, offset);
  c.has_gain = has_gain;
  c.has_bias = has_bias;
  const auto got = c.template run<NormKind::layer, Gain, false, 2, 2>({{}, 5});
  const Vec expected = oracle::layer_norm(
      cuda_test::doubles(c.x), row_count, width, static_cast<double>(c.eps),
      has_gain ? cuda_test::doubles(c.gain) : Vec{}, has_bias ? cuda_test::doubles(c.bias) : Vec{},
      std::is_same_v<Gain, gain::PlusOne>);
  EXPECT_TRUE(
      support::all_within(got, expected, cuda_test::budget(expected, 1.1 * half_ulp<T>, 4e-6)));
  if (sizeof(T) == 2) expect_same_roundings(got, c.template on_host<NormKind::layer, Gain>(false));
}

TEST(NormRows, LayerNormMeetsTheOracle) {
  for (const index_t width : {2, 65, 384, 1000, 1031, 2568}) {
    expect_layer<float, gain::BeforeRounding>(width, 0, true, true);
    expect_layer<bfloat16, gain::BeforeRounding>(width, 0, true, true);
    expect_layer<half, gain::PlusOne>(width, 0, true, true);
  }
  expect_layer<float, gain::BeforeRounding>(384, 0, false, false);
  expect_layer<float, gain::BeforeRounding>(384, 0, true, false);
  expect_layer<float, gain::BeforeRounding>(384, 0, false, true);
}

TEST(NormRows, LayerNormKeepsRowsWhoseMeanDwarfsTheirSpread) {
  expect_layer<float, gain::BeforeRounding>(1000, 1e4, true, true);
  expect_layer<half, gain::BeforeRounding>(1000, 500, true, true);
}

template <NormKind Kind, class T, class Gain>
void expect_fused(index_t width, bool scaled) {
  SCOPED_TRACE(testing::Message() << "width " << width << (scaled ? ", scaled" : ""));
  NormCase<T> c{width, 8};
  c.has_scale = scaled;
  const auto got = c.template run<Kind, Gain, true, 2, 1>({{}, 7});
  const auto expected = c.template on_host<Kind, Gain>(true);
  EXPECT_TRUE(support::all_within(
      got, expected,
      cuda_test::budget(cuda_test::doubles(expected), 2.1 * half_ulp<T> + 1e-6, 2e-6)));
  if (sizeof(T) == 2) expect_same_roundings(got, expected);
}

TEST(NormRows, AddsTheBranchFirst) {
  for (const bool scaled : {false, true})
    for (const index_t width : {7, 576, 1031}) {  // the last ones are longer than what is held
      expect_fused<NormKind::rms, float, gain::AfterRounding>(width, scaled);
      expect_fused<NormKind::rms, bfloat16, gain::AfterRounding>(width, scaled);
      expect_fused<NormKind::layer, bfloat16, gain::BeforeRounding>(width, scaled);
      expect_fused<NormKind::rms, half, gain::PlusOne>(width, scaled);
    }
}

TEST(NormRows, BitsDependNeitherOnTheScheduleNorOnOtherRows) {
  NormCase<bfloat16> c{1000, 8};
  const auto first = c.run<NormKind::layer, gain::BeforeRounding, false, 4, 1>({{}, 1});
  for (std::uint64_t seed = 2; seed < 5; ++seed)
    EXPECT_TRUE(support::same_bits(
        c.run<NormKind::layer, gain::BeforeRounding, false, 4, 1>({{}, seed}), first));
  std::fill(c.x.begin() + 1000, c.x.end(), bfloat16(3.f));
  auto other = c.run<NormKind::layer, gain::BeforeRounding, false, 4, 1>();
  other.resize(1000);
  EXPECT_TRUE(
      support::same_bits(other, std::vector<bfloat16>(first.begin(), first.begin() + 1000)));
}

}  // namespace
