// Products with stored weights and rows of embedding tables on the emulated device, against the
// oracle's decoder of the stored blocks.
#include <gtest/gtest.h>

#include <ashlar/cuda/embedding_rows.hpp>
#include <ashlar/cuda/gemv.hpp>
#include <ashlar/cuda/unpack_rows.hpp>
#include <ashlar/weights/pack.hpp>

#include "oracle/quant.hpp"
#include "row_case.hpp"

namespace {

using namespace ashlar;
using cuda::DeviceWeights;
using cuda_test::Channels, cuda_test::half_ulp, cuda_test::Rows, cuda_test::Vec;
using oracle::to_size;
using Bytes = std::vector<std::uint8_t>;

/// Random weights as a file stores them, and in panels that end at a page without access.
struct StoredMatrix {
  StoredMatrix(DType type_, index_t N_, index_t K_)
      : type(type_), N(N_), K(K_), panels(packed_bytes(type, N, K)) {
    support::Random random(static_cast<std::uint64_t>(N * 1000 + K));
    const index_t row_bytes = K / info(type).elements * info(type).bytes;
    rows = random.bytes(N * row_bytes);
    const auto put = [&](index_t at, double x, bool is_half) {
      const auto value = static_cast<float>(x);
      const std::uint16_t bits = is_half ? half(value).bits : bfloat16(value).bits;
      rows[to_size(at)] = static_cast<std::uint8_t>(bits & 255);
      rows[to_size(at + 1)] = static_cast<std::uint8_t>(bits >> 8);
    };
    const auto size = static_cast<index_t>(rows.size());
    if (type == DType::f32) {
      for (index_t i = 0; i < size; i += 4) {
        const auto value = static_cast<float>(random.normal());
        std::memcpy(rows.data() + i, &value, 4);
      }
    } else if (!is_quantized(type)) {
      for (index_t i = 0; i < size; i += 2) put(i, random.normal(), type == DType::f16);
    } else {
      for (index_t i = 0; i < size; i += info(type).bytes) {
        put(i, random.normal(0.05), true);
        if (type == DType::q4_1) put(i + 2, random.normal(0.3), true);
      }
    }
    const WeightMatrix file(rows.data(), type, N, K, WeightLayout::rows);
    pack_panels(file, reinterpret_cast<std::byte*>(panels.data()));
    values = oracle::dequantize(std::string(info(type).name), rows.data(), N * K);
  }
  DeviceWeights in_panels() const {
    return DeviceWeights(WeightMatrix(panels.data(), type, N, K, WeightLayout::panels));
  }
  DeviceWeights in_rows() const {
    return DeviceWeights(WeightMatrix(rows.data(), type, N, K, WeightLayout::rows));
  }

  DType type;
  index_t N, K;
  Bytes rows;
  support::PoisonedBuffer<std::uint8_t> panels;
  Vec values;
};

template <DType Type, class T, class Y, int M>
std::vector<Y> multiply(const StoredMatrix& w, const std::vector<T>& x, index_t rows, index_t gap,
                        const std::vector<float>& bias, std::uint64_t seed = 1) {
  Rows<T> in(rows, w.K, gap, x);
  Rows<Y> out(rows, w.N, 3);
  const Channels<float> b(bias);
  cuda::GemvArguments<T, Y> a{in.in(), w.in_panels(), {}, out.view()};
  if (!bias.empty()) a.bias = b.view();
  emulation::launch<cuda::Gemv<Type, T, Y, M>>(a, {{}, seed});
  EXPECT_TRUE(out.gaps_intact());
  return out.values();
}

template <DType Type, class T, class Y, int M>
void expect_products(index_t N, index_t K, index_t rows, index_t gap, bool has_bias) {
  SCOPED_TRACE(testing::Message() << info(Type).name << " N " << N << ", K " << K << ", M " << rows
                                  << " of " << M << ", gap " << gap);
  const StoredMatrix w(Type, N, K);
  support::Random random(3);
  const auto x = cuda_test::numbers<T>(random, rows * K);
  const auto bias = cuda_test::numbers<float>(random, has_bias ? N : 0);
  Vec expected(to_size(rows * N)), allowed(expected.size());
  for (index_t m = 0; m < rows; ++m)
    for (index_t n = 0; n < N; ++n) {
      double sum = has_bias ? static_cast<double>(bias[to_size(n)]) : 0, size = std::abs(sum);
      for (index_t k = 0; k < K; ++k) {
        const double term =
            static_cast<double>(x[to_size(m * K + k)]) * w.values[to_size(n * K + k)];
        sum += term;
        size += std::abs(term);
      }
      expected[to_size(m * N + n)] = sum;
      // A thread's chain, five halvings, eight warps and the bias.
      const auto steps = static_cast<double>(K / 256 + 24);
      allowed[to_size(m * N + n)] = size * steps * 0x1p-24 + 1.01 * half_ulp<Y> * std::abs(sum);
    }
  EXPECT_TRUE(
      support::all_within((multiply<Type, T, Y, M>(w, x, rows, gap, bias)), expected, allowed));
}

TEST(Gemv, EveryTypeOfWeightMeetsTheOracle) {
  for (const index_t K : {32, 576, 1536})
    for (const index_t N : {5, 33}) {
      expect_products<DType::f32, bfloat16, bfloat16, 1>(N, K, 1, 8, true);
      expect_products<DType::f16, half, half, 2>(N, K, 2, 8, false);
      expect_products<DType::bf16, bfloat16, float, 4>(N, K, 3, 8, true);
      expect_products<DType::q8_0, bfloat16, bfloat16, 1>(N, K, 1, 0, false);
      expect_products<DType::q4_0, half, half, 1>(N, K, 1, 0, true);
      expect_products<DType::q4_1, float, float, 1>(N, K, 1, 0, true);
      expect_products<DType::q8_0, float, float, 8>(N, K, 8, 4, false);
      expect_products<DType::q4_0, bfloat16, float, 4>(N, K, 4, 8, false);
      expect_products<DType::q4_1, bfloat16, bfloat16, 2>(N, K, 2, 8, false);
    }
}

TEST(Gemv, OddWidthsAndUnalignedRows) {
  for (const index_t K : {1, 7, 135}) {
    expect_products<DType::f32, float, float, 1>(17, K, 1, 0, true);
    expect_products<DType::f16, half, float, 2>(17, K, 2, 1, true);
    expect_products<DType::bf16, bfloat16, float, 2>(17, K, 2, 1, true);
    expect_products<DType::bf16, float, float, 4>(17, K, 4, 3, true);
  }
  expect_products<DType::q8_0, bfloat16, float, 2>(16, 64, 2, 3, false);
  expect_products<DType::q4_0, half, float, 8>(16, 64, 7, 1, false);
  expect_products<DType::q4_1, float, float, 2>(16, 64, 2, 3, false);
}

template <DType Type, class T>
void expect_invariance(index_t K) {
  const StoredMatrix w(Type, 40, K);
  support::Random random(5);
  const auto x = cuda_test::numbers<T>(random, 8 * K);
  const auto all = multiply<Type, T, float, 8>(w, x, 8, 0, {}, 3);
  for (index_t m = 0; m < 8; ++m) {
    const std::vector<T> own(x.begin() + m * K, x.begin() + (m + 1) * K);
    const std::vector<float> in_batch(all.begin() + m * 40, all.begin() + (m + 1) * 40);
    EXPECT_TRUE(support::same_bits(multiply<Type, T, float, 1>(w, own, 1, 0, {}, 8), in_batch));
  }
  const std::vector<T> three(x.begin(), x.begin() + 3 * K);
  EXPECT_TRUE(support::same_bits(multiply<Type, T, float, 4>(w, three, 3, 1, {}),
                                 std::vector<float>(all.begin(), all.begin() + 120)));
}

TEST(Gemv, ARowsBitsAreTheSameInEveryBatch) {
  expect_invariance<DType::f32, float>(300);
  expect_invariance<DType::f16, half>(300);
  expect_invariance<DType::bf16, bfloat16>(301);
  expect_invariance<DType::q8_0, bfloat16>(320);
  expect_invariance<DType::q4_0, bfloat16>(320);
  expect_invariance<DType::q4_1, half>(320);
}

template <DType Type, class T>
void expect_embedding(index_t D, index_t gap) {
  SCOPED_TRACE(testing::Message() << info(Type).name << ", D " << D << ", gap " << gap);
  const StoredMatrix table(Type, 21, D);
  const std::vector<std::int32_t> tokens = {20, 0, 3, 3, 16, 7};
  std::vector<T> expected;
  for (const std::int32_t t : tokens)
    for (index_t d = 0; d < D; ++d)
      // + 0: where the offset cancels the code, the sum has no sign.
      expected.push_back(static_cast<T>(
          static_cast<float>(table.values[to_size(t * D + d)] + (Type == DType::q4_0 ? 0. : -0.))));
  const Channels<std::int32_t> ids(tokens);
  const auto run = [&](auto kernel, DeviceWeights w) {
    Rows<T> y(6, D, gap);
    emulation::launch<decltype(kernel)>({ids.view(), w, y.view()});
    EXPECT_TRUE(y.gaps_intact());
    return y.values();
  };
  EXPECT_TRUE(support::same_bits(
      run(cuda::EmbeddingRows<Type, WeightLayout::rows, T>{}, table.in_rows()), expected));
  EXPECT_TRUE(support::same_bits(
      run(cuda::EmbeddingRows<Type, WeightLayout::panels, T>{}, table.in_panels()), expected));
}

TEST(EmbeddingRows, AreTheStoredValuesRoundedOnce) {
  for (const index_t gap : {0, 3, 8}) {
    for (const index_t D : {1, 9, 64, 1100}) {
      expect_embedding<DType::f32, float>(D, gap);
      expect_embedding<DType::f32, bfloat16>(D, gap);
      expect_embedding<DType::f16, half>(D, gap);
      expect_embedding<DType::f16, float>(D, gap);
      expect_embedding<DType::bf16, bfloat16>(D, gap);
      expect_embedding<DType::bf16, half>(D, gap);
    }
    expect_embedding<DType::q8_0, float>(96, gap);
    expect_embedding<DType::q8_0, bfloat16>(576, gap);
    expect_embedding<DType::q8_0, half>(32, gap);
    expect_embedding<DType::q4_0, float>(96, gap);
    expect_embedding<DType::q4_0, half>(32, gap);
    expect_embedding<DType::q4_1, float>(96, gap);
    expect_embedding<DType::q4_1, bfloat16>(576, gap);
  }
}

template <DType Type, class T>
void expect_rows(index_t N, index_t K, index_t gap) {
  SCOPED_TRACE(testing::Message() << info(Type).name << " N " << N << ", K " << K);
  const StoredMatrix w(Type, N, K);
  std::vector<T> expected;
  for (const double x : w.values)
    expected.push_back(static_cast<T>(static_cast<float>(x + (Type == DType::q4_0 ? 0. : -0.))));
  Rows<T> y(N, K, gap);
  emulation::launch<cuda::UnpackRows<Type, T>>({w.in_panels(), y.view()});
  EXPECT_TRUE(support::same_bits(y.values(), expected));
  EXPECT_TRUE(y.gaps_intact());
}

TEST(UnpackRows, AreTheStoredValuesRoundedOnce) {
  for (const index_t N : {1, 16, 37}) {
    expect_rows<DType::f32, float>(N, 7, 0);
    expect_rows<DType::f32, half>(N, 300, 3);
    expect_rows<DType::f16, bfloat16>(N, 33, 1);
    expect_rows<DType::bf16, bfloat16>(N, 9, 1);
    expect_rows<DType::bf16, float>(N, 700, 0);
    expect_rows<DType::q8_0, half>(N, 96, 0);
    expect_rows<DType::q8_0, float>(N, 576, 4);
    expect_rows<DType::q4_0, float>(N, 64, 0);
    expect_rows<DType::q4_1, bfloat16>(N, 576, 8);
  }
}

TEST(EmbeddingRows, ATokenThatIsNoneGivesNaN) {
  const StoredMatrix table(DType::bf16, 4, 20);
  const std::vector<std::int32_t> tokens = {-1, 4, 2};
  const Channels<std::int32_t> ids(tokens);
  Rows<bfloat16> y(3, 20, 0);
  y.view().row(0)[0] = y.view().row(1)[19] = bfloat16(1.f);
  emulation::launch<cuda::EmbeddingRows<DType::bf16, WeightLayout::rows, bfloat16>>(
      {ids.view(), table.in_rows(), y.view()});
  const auto got = y.values();
  for (std::size_t i = 0; i < 60; ++i)
    EXPECT_EQ(std::isnan(static_cast<float>(got[i])), i < 40) << i;
}

}  // namespace
