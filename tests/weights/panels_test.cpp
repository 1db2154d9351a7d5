// Packing into panels loses nothing, for every type, size of the last panel and source.
#include <gtest/gtest.h>

#include <ashlar/core/buffer.hpp>
#include <ashlar/weights/pack.hpp>

#include "support/compare.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;

constexpr DType types[] = {DType::f32,  DType::f16,  DType::bf16, DType::q8_0,
                           DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                           DType::q4_k, DType::q5_k, DType::q6_k};

/// Rows of random bytes, `gap` bytes apart, that end at a page without access. Exponents are kept
/// finite: every 16-bit half of a float and every scale gets its top exponent bit cleared.
struct File {
  File(DType type, index_t N, index_t K, index_t gap, std::uint64_t salt)
      : row_bytes(K / info(type).elements * info(type).bytes + gap), bytes(N * row_bytes - gap) {
    support::Random random(salt);
    const auto values = random.bytes(static_cast<index_t>(bytes.size()));
    std::memcpy(bytes.data(), values.data(), values.size());
    const DTypeInfo i = info(type);
    for (index_t n = 0; n < N; ++n)
      for (index_t b = 0; b < K / i.elements; ++b) {
        std::uint8_t* block = bytes.data() + n * row_bytes + b * i.bytes;
        const auto finite = [&](index_t at) { block[at + 1] &= 0xbf; };
        if (type == DType::f32)
          finite(2);
        else if (type == DType::q6_k)
          finite(208);
        else
          finite(0);
        if (type == DType::q4_1 || type == DType::q5_1 || type == DType::q4_k ||
            type == DType::q5_k)
          finite(2);
      }
  }
  index_t row_bytes;
  support::PoisonedBuffer<std::uint8_t> bytes;
};

std::vector<float> decoded(const WeightMatrix& w) {
  std::vector<float> values(static_cast<std::size_t>(w.rows() * w.columns()));
  for (index_t n = 0; n < w.rows(); ++n) decode_row(w, n, values.data() + n * w.columns());
  return values;
}

Executor backwards(int workers) {  // workers one after the other, the last one first
  return {[](void*, int count, Executor::Task task, void* argument) {
            for (int w = count - 1; w >= 0; --w) task(argument, w);
          },
          nullptr, workers};
}

class Panels : public testing::TestWithParam<DType> {};

TEST_P(Panels, KeepEveryValue) {
  const DType type = GetParam();
  const index_t unit = info(type).elements;
  for (const index_t N : {1, 15, 16, 17, 50})
    for (index_t K : {1, 2, 3, 31, 32, 33, 257, 288}) {
      if (unit > 1) K = unit * (1 + K % 5);
      const File file(type, N, K, 6, static_cast<std::uint64_t>(N * 1000 + K));
      const WeightMatrix rows(file.bytes.data(), type, N, K, WeightLayout::rows, file.row_bytes);
      support::PoisonedBuffer<std::byte> packed(packed_bytes(type, N, K));
      pack_panels(rows, packed.data(), backwards(3));
      const WeightMatrix panels(packed.data(), type, N, K, WeightLayout::panels);
      ASSERT_TRUE(support::same_bits(decoded(panels), decoded(rows))) << N << " x " << K;
    }
}

TEST_P(Panels, LastPanelIsFilledWithZeros) {
  const DType type = GetParam();
  const index_t N = 17, K = 256;
  const File file(type, N, K, 0, 3);
  const WeightMatrix rows(file.bytes.data(), type, N, K, WeightLayout::rows);
  Buffer<std::byte> packed(packed_bytes(type, N, K));
  for (auto& b : packed) b = std::byte{0xff};
  pack_panels(rows, packed.data());
  const auto values = decoded(WeightMatrix(packed.data(), type, 32, K, WeightLayout::panels));
  for (std::size_t i = static_cast<std::size_t>(N * K); i < values.size(); ++i)
    ASSERT_EQ(values[i], 0.f) << i;
}

TEST_P(Panels, TakeTheFilesBytes) {
  const DType type = GetParam();
  const auto bytes = static_cast<double>(info(type).bytes * (1024 / info(type).elements) * 32);
  EXPECT_GE(static_cast<double>(packed_bytes(type, 32, 1024)), bytes);
  EXPECT_LE(static_cast<double>(packed_bytes(type, 32, 1024)), bytes * 1.03);
}

INSTANTIATE_TEST_SUITE_P(Types, Panels, testing::ValuesIn(types), [](const auto& param) {
  return std::string(ashlar::info(param.param).name);
});

TEST(Pack, SlicesOfRows) {
  const File file(DType::q4_0, 40, 64, 0, 5);
  const WeightMatrix rows(file.bytes.data(), DType::q4_0, 40, 64, WeightLayout::rows);
  const WeightMatrix slice(rows.data() + 7 * rows.row_bytes(), DType::q4_0, 20, 64,
                           WeightLayout::rows);
  Buffer<std::byte> packed(packed_bytes(DType::q4_0, 20, 64));
  pack_panels(slice, packed.data());
  const auto all = decoded(rows);
  EXPECT_TRUE(support::same_bits(
      decoded(WeightMatrix(packed.data(), DType::q4_0, 20, 64, WeightLayout::panels)),
      std::vector<float>(all.begin() + 7 * 64, all.begin() + 27 * 64)));
}

template <class T>
class Transposed : public testing::Test {};
using Floats = testing::Types<float, half, bfloat16>;
TYPED_TEST_SUITE(Transposed, Floats);

TYPED_TEST(Transposed, GivesTheRowsOfTheTranspose) {
  using T = TypeParam;
  for (const index_t K : {1, 5, 32})
    for (const index_t N : {1, 16, 35}) {
      const index_t stride = N + 3;
      support::Random random(11);
      std::vector<T> source(static_cast<std::size_t>(K * stride));
      for (T& x : source) x = static_cast<T>(static_cast<float>(random.normal()));
      Buffer<std::byte> packed(packed_bytes(dtype_of<T>, N, K));
      pack_panels_transposed(MatrixView<const T>(source.data(), {K, N}, {stride, 1}), packed.data(),
                             backwards(2));
      const auto got =
          decoded(WeightMatrix(packed.data(), dtype_of<T>, N, K, WeightLayout::panels));
      for (index_t n = 0; n < N; ++n)
        for (index_t k = 0; k < K; ++k)
          ASSERT_EQ(got[static_cast<std::size_t>(n * K + k)],
                    static_cast<float>(source[static_cast<std::size_t>(k * stride + n)]));
    }
}

TEST(Pack, RefusesPanels) {
  Buffer<std::byte> bytes(packed_bytes(DType::f32, 16, 4));
  const WeightMatrix w(bytes.data(), DType::f32, 16, 4, WeightLayout::panels);
  EXPECT_THROW(pack_panels(w, bytes.data()), ValueError);
}

}  // namespace
