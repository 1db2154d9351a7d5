// Block formats: hand-made blocks whose values follow from the layout tables, and random ones
// against the independent decoder in double.
#include "oracle/quant.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ashlar/core/quant.hpp>

#include "support/compare.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;

constexpr std::uint8_t one[2] = {0x00, 0x3c}, two[2] = {0x00, 0x40};  // halves

TEST(Quant, Q8_0) {
  std::array<std::uint8_t, 34> b{};
  b[0] = two[0];
  b[1] = two[1];
  b[2] = 0x80;  // -128
  b[3] = 0x7f;
  b[33] = 0xff;  // -1
  float y[32];
  decode_block(DType::q8_0, b.data(), y);
  EXPECT_EQ(y[0], -256.f);
  EXPECT_EQ(y[1], 254.f);
  EXPECT_EQ(y[2], 0.f);
  EXPECT_EQ(y[31], -2.f);
}

TEST(Quant, Q4_0And5_0HalvesOfBytesAreSixteenApart) {
  std::array<std::uint8_t, 18> b{};
  b[0] = one[0];
  b[1] = one[1];
  b[2] = 0xf1;   // element 0: 1, element 16: 15
  b[17] = 0x2e;  // element 15: 14, element 31: 2
  float y[32];
  decode_block(DType::q4_0, b.data(), y);
  EXPECT_EQ(y[0], -7.f);
  EXPECT_EQ(y[16], 7.f);
  EXPECT_EQ(y[15], 6.f);
  EXPECT_EQ(y[31], -6.f);
  EXPECT_EQ(y[1], -8.f);

  std::array<std::uint8_t, 22> c{};
  c[0] = one[0];
  c[1] = one[1];
  c[2] = 0x01;  // fifth bit of element 0
  c[5] = 0x80;  // of element 31
  c[6] = 0xf1;
  c[21] = 0x2e;
  decode_block(DType::q5_0, c.data(), y);
  EXPECT_EQ(y[0], 1.f);    // 1 + 16 - 16
  EXPECT_EQ(y[16], -1.f);  // 15 - 16
  EXPECT_EQ(y[31], 2.f);   // 2 + 16 - 16
  EXPECT_EQ(y[15], -2.f);  // 14 - 16
}

TEST(Quant, SuperBlockOfQ6_K) {
  std::array<std::uint8_t, 210> b{};
  b[208] = two[0];
  b[209] = two[1];
  b[192] = 3;          // scale of elements 0 .. 15
  b[192 + 15] = 0xff;  // -1 for 240 .. 255
  b[0] = 0x05;         // low bits of element 0
  b[128] = 0x02;       // upper bits of element 0
  b[127] = 0x90;       // element 255: low bits 9
  b[191] = 0xc0;       // element 255: upper bits 3
  float y[256];
  decode_block(DType::q6_k, b.data(), y);
  EXPECT_EQ(y[0], 2.f * 3.f * (5 + 32 - 32));
  EXPECT_EQ(y[1], 2.f * 3.f * -32);
  EXPECT_EQ(y[255], 2.f * -1.f * (9 + 48 - 32));
  EXPECT_EQ(y[16], 0.f);  // scale 0
}

class Decoder : public testing::TestWithParam<DType> {};

TEST_P(Decoder, AgreesWithTheLayoutTable) {
  const DType type = GetParam();
  const DTypeInfo i = info(type);
  support::Random random(static_cast<std::uint64_t>(type));
  SCOPED_TRACE(random.seed());
  for (int round = 0; round < 200; ++round) {
    auto b = random.bytes(i.bytes);
    // Scales stay finite: the top bit of the exponent is cleared.
    const std::size_t d = type == DType::q6_k ? 209 : 1;
    b[d] &= 0xbf;
    b[3] &= 0xbf;
    std::vector<float> y(static_cast<std::size_t>(i.elements));
    decode_block(type, b.data(), y.data());
    const auto expected = oracle::dequantize(std::string(i.name), b.data(), i.elements);
    std::vector<double> budget;  // half an ulp of the exact value: one rounding
    for (const double e : expected) budget.push_back(std::abs(e) * 0x1p-24 + 0x1p-150);
    ASSERT_TRUE(support::all_within(y, expected, budget)) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Decoder,
                         testing::Values(DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0,
                                         DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k),
                         [](const auto& param) {
                           return std::string(ashlar::info(param.param).name);
                         });

TEST(Quant, FloatsOfAnyAddress) {
  const float values[] = {1.5f, -0.0f, 3e-39f};
  std::array<std::uint8_t, 13> bytes{};
  std::memcpy(bytes.data() + 1, values, sizeof values);
  float y[3];
  decode_elements(DType::f32, bytes.data() + 1, 3, y);
  EXPECT_TRUE(support::same_bits(y, values));
  const std::uint8_t halves[] = {0x00, 0x3c, 0x01, 0x80};
  decode_elements(DType::f16, halves, 2, y);
  EXPECT_EQ(y[0], 1.f);
  EXPECT_EQ(y[1], -0x1p-24f);
  decode_elements(DType::bf16, halves, 2, y);
  EXPECT_EQ(y[0], std::bit_cast<float>(0x3c000000u));
}

}  // namespace
