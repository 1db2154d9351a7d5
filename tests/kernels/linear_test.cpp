// linear on SIMD: the bits of the scalar contract for every type of weights, layout, shape and
// number of workers.
#include "oracle/linear.hpp"

#include <gtest/gtest.h>

#include <ashlar/eigen.hpp>
#include <ashlar/simd.hpp>
#include <thread>

#include "oracle/quant.hpp"
#include "support/compare.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;

constexpr DType types[] = {DType::f32,  DType::f16,  DType::bf16, DType::q8_0,
                           DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                           DType::q4_k, DType::q5_k, DType::q6_k};

Executor threads(int workers) {
  return {[](void*, int count, Executor::Task task, void* argument) {
            std::vector<std::thread> pool;
            for (int w = 1; w < count; ++w) pool.emplace_back(task, argument, w);
            task(argument, 0);
            for (std::thread& t : pool) t.join();
          },
          nullptr, workers};
}

/// Weights of any type as a file stores them, rows `gap` bytes apart, and as panels.
struct Weights {
  Weights(DType stored, index_t outputs, index_t columns, index_t gap = 0)
      : type(stored),
        N(outputs),
        K(columns),
        row_bytes(K / info(type).elements * info(type).bytes + gap),
        bytes(static_cast<std::size_t>(N * row_bytes)),
        packed(packed_bytes(type, N, K)) {
    support::Random random(static_cast<std::uint64_t>(type) * 977 +
                           static_cast<std::uint64_t>(N * 31 + K));
    const DTypeInfo i = info(type);
    for (index_t n = 0; n < N; ++n)
      for (index_t b = 0; b < K / i.elements; ++b) {
        std::uint8_t* block = bytes.data() + n * row_bytes + b * i.bytes;
        const auto put = [&](index_t at, auto value) {
          std::memcpy(block + at, &value, sizeof value);
        };
        const auto number = [&] { return static_cast<float>(random.normal()); };
        const auto small = [&] { return half(static_cast<float>(random.uniform(-0.02, 0.05))); };
        if (type == DType::f32)
          put(0, number());
        else if (type == DType::f16)
          put(0, half(number()));
        else if (type == DType::bf16)
          put(0, bfloat16(number()));
        else {
          const auto values = random.bytes(i.bytes);
          std::memcpy(block, values.data(), values.size());
          put(type == DType::q6_k ? 208 : 0, small());
          if (type == DType::q4_1 || type == DType::q5_1 || type == DType::q4_k ||
              type == DType::q5_k)
            put(2, small());
        }
      }
    pack_panels(rows(), packed.data());
  }
  WeightMatrix rows() const { return {bytes.data(), type, N, K, WeightLayout::rows, row_bytes}; }
  WeightMatrix panels() const { return {packed.data(), type, N, K, WeightLayout::panels}; }
  /// The values in double, by the independent decoder.
  oracle::Vec values() const {
    oracle::Vec all;
    for (index_t n = 0; n < N; ++n) {
      const auto row =
          oracle::dequantize(std::string(info(type).name), bytes.data() + n * row_bytes, K);
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

  DType type;
  index_t N, K, row_bytes;
  std::vector<std::uint8_t> bytes;
  Buffer<std::byte> packed;
};

std::vector<float> random_x(index_t M, index_t K) {
  return support::Random(static_cast<std::uint64_t>(M * 7919 + K)).normals<float>(M * K);
}
/// y of the backend with x and y in strided memory that ends at a page without access; NaN fills
/// the gaps.
template <class B>
std::vector<float> product(const std::vector<float>& values, index_t M, const WeightMatrix& w,
                           const std::vector<float>& bias, int workers = 1) {
  support::PoisonedTensor<float, 2> x({M, w.columns()}, 5), y({M, w.rows()}, 3);
  x.assign(std::span<const float>(values));
  Context<B> ctx(threads(workers));
  linear(ctx, MatrixView<const float>(x.data(), x.extents(), x.strides()), w,
         VectorView<const float>(bias.data(), {static_cast<index_t>(bias.size())}),
         MatrixView<float>(y.data(), y.extents(), y.strides()));
  EXPECT_TRUE(y.gaps_intact());
  return y.template values<std::vector<float>>();
}

class Linear : public testing::TestWithParam<DType> {};

TEST_P(Linear, GivesTheBitsOfTheContract) {
  const DType type = GetParam();
  const index_t unit = info(type).elements;
  const auto check = [&](index_t N, index_t K) {
    const Weights w(type, N, K, 2);
    const auto bias = support::Random(3).normals<float>(N);
    for (const index_t M : {1, 2, 3, 7, 8, 9, 12, 13, 64, 130}) {
      if (M > 13 && N * K > 100000) continue;  // the scalar kernel takes long
      const auto x = random_x(M, K);
      const auto& b = M % 2 ? bias : std::vector<float>();
      const auto expected = product<backend::ScalarCpu>(x, M, w.rows(), b);
      const auto same = [&](const std::vector<float>& got) {
        if (has_fma) return support::same_bits(got, expected);
        return support::all_close_to_largest(got, expected, 1e-5);
      };
      for (const int workers : {1, 2, 3}) {
        ASSERT_TRUE(same(product<backend::SimdCpu>(x, M, w.panels(), b, workers)))
            << "panels, N " << N << ", K " << K << ", M " << M << ", workers " << workers;
        if (workers != 2) continue;
        ASSERT_TRUE(same(product<backend::SimdCpu>(x, M, w.rows(), b, workers)))
            << "rows, N " << N << ", K " << K << ", M " << M;
      }
      ASSERT_TRUE(support::same_bits(product<backend::ScalarCpu>(x, M, w.panels(), b), expected));
    }
  };
  for (const index_t K : {1, 33, 255, 257, 576})
    if (unit == 1) check(17, K);
  for (const index_t K : {32, 288, 576, 1536})
    if (unit == 32) check(17, K);
  for (const index_t K : {256, 768, 1536})
    if (unit == 256) check(17, K);
  const index_t K = unit == 256 ? 512 : 288;
  for (const index_t N : {1, 15, 16, 48, 100, 592, 1000}) check(N, K);
}

TEST_P(Linear, IsNearTheProductInDouble) {
  const DType type = GetParam();
  const index_t M = 9, N = 33, K = 768;
  const Weights w(type, N, K);
  const auto x = random_x(M, K);
  const auto bias = support::Random(5).normals<float>(N);
  const oracle::Vec wide_x(x.begin(), x.end()), wide_w = w.values();
  const auto expected = oracle::linear(wide_x, wide_w, M, K, N, {bias.begin(), bias.end()});
  auto budget = oracle::linear_magnitude(wide_x, wide_w, M, K, N);
  for (double& b : budget) b = b * 4e-7 + 1e-6;
  EXPECT_TRUE(
      support::all_within(product<backend::ScalarCpu>(x, M, w.rows(), bias), expected, budget));
  EXPECT_TRUE(
      support::all_within(product<backend::SimdCpu>(x, M, w.panels(), bias), expected, budget));
  EXPECT_TRUE(
      support::all_within(product<backend::EigenCpu>(x, M, w.panels(), bias, 2), expected, budget));
  EXPECT_TRUE(
      support::all_within(product<backend::EigenCpu>(x, M, w.rows(), bias), expected, budget));
}

TEST_P(Linear, EigenTakesAnyShape) {
  const DType type = GetParam();
  const index_t unit = info(type).elements;
  for (const index_t K : {1, 33, 256, 768})
    for (const index_t N : {1, 17, 128, 300})
      for (const index_t M : {1, 2, 13}) {
        if (K % unit) continue;
        const Weights w(type, N, K);
        const auto x = random_x(M, K);
        const auto expected = product<backend::ScalarCpu>(x, M, w.rows(), {});
        const oracle::Vec wide_x(x.begin(), x.end()), wide_w = w.values();
        auto budget = oracle::linear_magnitude(wide_x, wide_w, M, K, N);
        for (double& b : budget) b = b * 4e-7 + 1e-6;
        ASSERT_TRUE(support::all_within(product<backend::EigenCpu>(x, M, w.panels(), {}, 3),
                                        expected, budget))
            << "N " << N << ", K " << K << ", M " << M;
      }
}

TEST_P(Linear, RowsDoNotDependOnTheBatch) {
  const DType type = GetParam();
  const index_t M = 1030, N = 40, K = 512;  // more rows than one pass over the weights takes
  const Weights w(type, N, K);
  const auto x = random_x(M, K);
  const auto all = product<backend::SimdCpu>(x, M, w.panels(), {}, 2);
  for (const index_t m : {0, 503, 504, 1007, 1008, 1029}) {
    const std::vector<float> row(x.begin() + m * K, x.begin() + (m + 1) * K);
    EXPECT_TRUE(
        support::same_bits(product<backend::SimdCpu>(row, 1, w.panels(), {}),
                           std::vector<float>(all.begin() + m * N, all.begin() + (m + 1) * N)))
        << m;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Linear, testing::ValuesIn(types), [](const auto& param) {
  return std::string(ashlar::info(param.param).name);
});

TEST(LinearOp, NothingToDo) {
  const Weights w(DType::f32, 16, 8);
  EXPECT_TRUE(product<backend::SimdCpu>({}, 0, w.panels(), {}).empty());
}

TEST(LinearOp, NoInputsGiveTheBias) {
  Context<backend::SimdCpu> ctx;
  const std::vector<float> bias{1, 2, 3};
  std::vector<float> y(6, -1);
  float none = 0;
  const WeightMatrix w(&none, DType::f32, 3, 0, WeightLayout::panels);
  linear(ctx, MatrixView<const float>(&none, {2, 0}), w, VectorView<const float>(bias.data(), {3}),
         MatrixView<float>(y.data(), {2, 3}));
  EXPECT_EQ(y, (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

TEST(LinearOp, OtherActivationsTakeTheScalarKernel) {
  const Weights w(DType::bf16, 20, 40);
  const auto values = random_x(3, 40);
  std::vector<bfloat16> x, y(60), expected(60);
  for (const float v : values) x.emplace_back(v);
  Context<backend::SimdCpu> simd;
  Context<backend::ScalarCpu> scalar;
  const MatrixView<const bfloat16> view(x.data(), {3, 40});
  linear(simd, view, w.panels(), {}, MatrixView<bfloat16>(y.data(), {3, 20}));
  linear(scalar, view, w.rows(), {}, MatrixView<bfloat16>(expected.data(), {3, 20}));
  EXPECT_TRUE(support::same_bits(y, expected));
}

TEST(LinearOp, RefusesOtherShapes) {
  const Weights w(DType::f32, 16, 8);
  Context<backend::SimdCpu> ctx;
  std::vector<float> x(32), y(64);
  const auto call = [&](index_t K, index_t M, index_t N, index_t B) {
    linear(ctx, MatrixView<const float>(x.data(), {2, K}), w.panels(),
           VectorView<const float>(x.data(), {B}), MatrixView<float>(y.data(), {M, N}));
  };
  EXPECT_NO_THROW(call(8, 2, 16, 16));
  EXPECT_THROW(call(7, 2, 16, 16), ShapeError);
  EXPECT_THROW(call(8, 3, 16, 16), ShapeError);
  EXPECT_THROW(call(8, 2, 15, 16), ShapeError);
  EXPECT_THROW(call(8, 2, 16, 15), ShapeError);
}

TEST(LinearOp, NothingAllocatesAfterTheFirstCall) {
  const Weights w(DType::q4_0, 100, 288);
  Context<backend::SimdCpu> ctx(threads(1));
  const auto x = random_x(20, 288);
  std::vector<float> y(2000);
  const auto call = [&](index_t M) {
    linear(ctx, MatrixView<const float>(x.data(), {M, 288}), w.rows(), {},
           MatrixView<float>(y.data(), {M, 100}));
  };
  call(20);
  const std::size_t peak = ctx.scratch().peak_bytes();
  call(20);
  call(1);
  EXPECT_EQ(ctx.scratch().peak_bytes(), peak);
}

}  // namespace
