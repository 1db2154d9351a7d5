#include <ashlar/ops/embedding.hpp>
#include <ashlar/weights/pack.hpp>

#include "oracle/quant.hpp"
#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats, rows::Matrix, rows::Vec;
using Tokens = std::vector<std::int32_t>;

/// A table of V rows of D elements as a file stores it and in panels.
struct Stored {
  Stored(DType stored, index_t V, index_t D) : packed(packed_bytes(stored, V, D)) {
    const DTypeInfo i = info(stored);
    const index_t blocks = V * D / i.elements;
    support::Random random(static_cast<std::uint64_t>(stored));
    bytes = random.bytes(blocks * i.bytes);
    for (index_t b = 0; b < blocks; ++b) {  // finite numbers, scales of small halves
      std::uint8_t* block = bytes.data() + b * i.bytes;
      const auto number = static_cast<float>(random.normal());
      const half scale(static_cast<float>(random.uniform(-0.1, 0.1)));
      if (stored == DType::f32) std::memcpy(block, &number, 4);
      if (stored == DType::bf16) {
        const bfloat16 n(number);
        std::memcpy(block, &n, 2);
      }
      if (stored == DType::f16 || is_quantized(stored)) std::memcpy(block, &scale, 2);
      if (stored == DType::q4_1) std::memcpy(block + 2, &scale, 2);
    }
    rows = WeightMatrix(bytes.data(), stored, V, D, WeightLayout::rows);
    pack_panels(rows, packed.data());
    panels = WeightMatrix(packed.data(), stored, V, D, WeightLayout::panels);
    values = oracle::dequantize(std::string(i.name), bytes.data(), V * D);
  }
  std::vector<std::uint8_t> bytes;
  Buffer<std::byte> packed;
  WeightMatrix rows, panels;
  Vec values;
};

template <class B>
struct Embedding : rows::Op<B> {};
TYPED_TEST_SUITE(Embedding, rows::Backends);

TYPED_TEST(Embedding, GivesTheStoredRowsOfEveryLayout) {
  for (const DType type :
       {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0})
    for (const index_t D : {32, 96}) {
      const Stored table(type, 37, D);
      const Tokens tokens = {0, 36, 5, 5, 16, 15, 31};
      const auto M = static_cast<index_t>(tokens.size());
      Vec expected;
      for (const index_t t : tokens)
        expected.insert(expected.end(), table.values.begin() + t * D,
                        table.values.begin() + (t + 1) * D);
      for (const WeightMatrix& w : {table.rows, table.panels}) {
        Matrix<float> y(M, D);
        embedding(this->ctx, rows::vector(tokens), w, y.view());
        // Values of blocks are exact in float but for the last rounding of scale * code + minimum.
        EXPECT_TRUE(
            support::all_close_to_largest(y.values(), expected, is_quantized(type) ? 0x1p-24 : 0.0))
            << info(type).name << ", D " << D;
        EXPECT_TRUE(y.gaps_intact());
        Matrix<bfloat16> narrow(M, D);
        embedding(this->ctx, rows::vector(tokens), w, narrow.view());
        EXPECT_TRUE(support::all_close_to_largest(narrow.values(), expected, 1.001 * 0x1p-8));
        Matrix<double> wide(M, D);
        embedding(this->ctx, rows::vector(tokens), w, wide.view());
        EXPECT_TRUE(support::all_close_to_largest(wide.values(), expected, 0x1p-24));
      }
    }
}
TYPED_TEST(Embedding, SameForEveryNumberOfWorkers) {
  const Stored table(DType::q8_0, 50, 576);
  Tokens tokens;
  for (int m = 0; m < 100; ++m) tokens.push_back(m * 7 % 50);
  Matrix<float> one(100, 576), three(100, 576);
  embedding(this->ctx, rows::vector(tokens), table.panels, one.view());
  Context<TypeParam> threaded(rows::threads(3));
  embedding(threaded, rows::vector(tokens), table.panels, three.view());
  EXPECT_TRUE(support::same_bits(three.values(), one.values()));
}
TYPED_TEST(Embedding, NoTokensGiveNothing) {
  const Stored table(DType::f32, 4, 8);
  Matrix<float> y(0, 8);
  embedding(this->ctx, VectorView<const std::int32_t>(), table.rows, y.view());
}
TYPED_TEST(Embedding, RefusesTokensOutsideBeforeItWrites) {
  const Stored table(DType::f32, 4, 8);
  for (const std::int32_t bad : {-1, 4, 2147483647}) {
    const Tokens tokens = {1, bad};
    Floats y(16, 7.f);
    EXPECT_EQ(rows::message<ValueError>([&] {
                embedding(this->ctx, rows::vector(tokens), table.rows,
                          MatrixView<float>(y.data(), {2, 8}));
              }),
              "embedding: token 1 is " + std::to_string(bad) + ", expected 0 to 3");
    EXPECT_TRUE(support::same_bits(y, Floats(16, 7.f)));
  }
}
TYPED_TEST(Embedding, RefusesShapesThatDoNotFit) {
  const Stored table(DType::f32, 4, 8);
  const Tokens tokens = {1, 2};
  Floats y(16);
  EXPECT_EQ(
      rows::message<ShapeError>([&] {
        embedding(this->ctx, rows::vector(tokens), table.rows, MatrixView<float>(y.data(), {2, 7}));
      }),
      "embedding: y has shape [2, 7], expected [2, 8]");
}

}  // namespace
