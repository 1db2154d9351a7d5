// The primitives of the kernels give what the PTX ISA says: of the emulated device, and of a real
// one where nvcc compiles this. Every other test of kernels rests on them.
#include <gtest/gtest.h>

#include "conformance_case.hpp"

namespace {

using namespace conformance;

/// The words that a section leaves, in the order thread, result.
template <class Section>
Words run(const Words& in, int blocks = 1) {
  support::PoisonedBuffer<Word> out(blocks * Section::results * threads);
  emulation::launch<Kernel<Section>>({in.data(), out.data()});
  return Words(out.data(), out.data() + out.size());
}

TEST(Conformance, Indices) {
  const Words got = run<Indices>({0}, 12);
  for (int block = 0; block < 12; ++block) {
    const auto begin = got.begin() + block * 4 * threads;
    EXPECT_EQ(difference(Words(begin, begin + 4 * threads), 4,
                         [block](int t, int i) {
                           const int all[4] = {t, block % 3, block / 3 % 2, block / 6};
                           return static_cast<Word>(all[i]);
                         }),
              "")
        << "block " << block;
  }
}

TEST(Conformance, GlobalAndSharedMemory) {
  const Words in = random_words(896, 1);
  EXPECT_EQ(difference(run<Memory>(in), 7,
                       [&](int t, int i) {
                         const int other = t ^ 37;
                         if (i == 0) return in[at(other)];
                         return i < 3 ? in[at(128 + 2 * other + i - 1)]
                                      : in[at(384 + 4 * other + i - 3)];
                       }),
            "");
}

TEST(Conformance, ShufflesAndBallot) {
  const Words in = random_words(threads, 2);
  EXPECT_EQ(difference(run<Shuffles>(in), 5,
                       [&](int t, int i) {
                         const int warp = t / 32 * 32, lane = t % 32;
                         const auto of = [&](int other) {
                           return bits_of(static_cast<float>(in[at(warp + other)] & 0xffff));
                         };
                         Word votes = 0;
                         for (int l = 0; l < 32; ++l) votes |= (in[at(warp + l)] >> 2 & 1) << l;
                         const Word all[5] = {in[at(warp + (lane ^ 5))], of(lane ^ 16), of(11),
                                              votes, in[at(t)]};
                         return all[i];
                       }),
            "");
}

/// f of the given floats, a pair for each thread, the last one repeated.
template <class F>
Words of_floats(std::vector<float> pairs) {
  Words in;
  for (int i = 0; i < 2 * threads; ++i)
    in.push_back(bits_of(pairs[std::min(at(i), pairs.size() - 2 + at(i % 2))]));
  return run<OfFloats<F>>(in);
}
/// f within a share of the exact value, or exactly it where it is 0, infinite or no number.
template <class F>
void expect_function(const std::vector<float>& x, double (*exact)(double), double share,
                     double least = 0) {
  std::vector<float> pairs;
  for (const float v : x) pairs.insert(pairs.end(), {v, 0.f});
  const Words got = of_floats<F>(pairs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double e = exact(static_cast<double>(x[i]));
    const auto g = static_cast<double>(float_of(got[i]));
    if (std::isnan(e))
      EXPECT_TRUE(std::isnan(g)) << x[i];
    else if (e == 0 || std::isinf(e))
      EXPECT_EQ(g, e) << x[i];
    else
      EXPECT_NEAR(g, e, share * std::abs(e) + least) << x[i];
  }
}

TEST(Conformance, Exp2) {
  support::Random random(3);
  std::vector<float> x = {0.f, -0.f, -HUGE_VALF, HUGE_VALF, NAN, -1.f, -126.f, 1.f, 127.f};
  while (x.size() < 120) x.push_back(static_cast<float>(random.uniform(-125, 1)));
  expect_function<Exp2>(
      x, [](double v) { return std::exp2(v); }, 0x1p-21);
  // Denormal results are 0: rows that a kernel has never seen have weights of exactly 0.
  expect_function<Exp2>(
      {-127.5f, -140.f, -1000.f}, [](double) { return 0.; }, 0);
  const Words ones = of_floats<Exp2>({0.f, 0.f, -0.f, 0.f});
  EXPECT_EQ(ones[0], bits_of(1.f));
  EXPECT_EQ(ones[1], bits_of(1.f));
}

TEST(Conformance, Log2) {
  support::Random random(4);
  std::vector<float> x = {0.f, HUGE_VALF, NAN, 2.f, 1024.f, 0x1p-100f};
  while (x.size() < 120) x.push_back(static_cast<float>(std::exp2(random.uniform(-20, 20))));
  expect_function<Log2>(
      x, [](double v) { return std::log2(v); }, 0x1p-21, 0x1p-21);
}

TEST(Conformance, Reciprocal) {
  support::Random random(5);
  std::vector<float> x = {1.f, 2.f, -4.f, HUGE_VALF, 3.f};
  while (x.size() < 120) x.push_back(static_cast<float>(std::exp2(random.uniform(-60, 60))));
  expect_function<Reciprocal>(
      x, [](double v) { return 1 / v; }, 0x1p-22);
}

TEST(Conformance, Maximum) {
  const Words got = of_floats<Maximum>(
      {1.f, 2.f, 2.f, 1.f, -HUGE_VALF, -3.f, NAN, 5.f, 5.f, NAN, -HUGE_VALF, -HUGE_VALF});
  const float expected[] = {2, 2, -3, 5, 5, -HUGE_VALF};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(float_of(got[i]), expected[i]) << i;
}

/// Floats that are rounded to 16 bits: to the nearest, of two the even one.
struct Rounded {
  float x;
  unsigned bfloat16, half;
};
const Rounded rounded[] = {
    {0.f, 0x0000, 0x0000},        {-0.f, 0x8000, 0x8000},       {1.f, 0x3f80, 0x3c00},
    {-2.5f, 0xc020, 0xc100},      {0x1.01p0f, 0x3f80, 0x3c04},  {0x1.03p0f, 0x3f82, 0x3c0c},
    {0x1.002p0f, 0x3f80, 0x3c00}, {0x1.006p0f, 0x3f80, 0x3c02}, {0x1.011p0f, 0x3f81, 0x3c04},
    {65519.f, 0x4780, 0x7bff},    {65520.f, 0x4780, 0x7c00},    {HUGE_VALF, 0x7f80, 0x7c00},
    {0x1p-24f, 0x3380, 0x0001},   {0x1p-25f, 0x3300, 0x0000},   {0x1.8p-25f, 0x3340, 0x0001},
    {-0x1p-14f, 0xb880, 0x8400}};

template <class T>
void expect_pack(unsigned Rounded::*bits) {
  std::vector<float> pairs;
  Words expected;
  const int count = static_cast<int>(std::size(rounded));
  for (int i = 0; i < count; ++i) {
    const Rounded &low = rounded[i], &high = rounded[(i + 5) % count];
    pairs.insert(pairs.end(), {low.x, high.x});
    expected.push_back(low.*bits | high.*bits << 16);
  }
  const Words got = of_floats<Pack<T>>(pairs);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(got[i], expected[i]) << pairs[2 * i] << " and " << pairs[2 * i + 1];
  EXPECT_TRUE(std::isnan(static_cast<float>(
      T::from_bits(static_cast<std::uint16_t>(of_floats<Pack<T>>({NAN, 0.f})[0])))));
}
TEST(Conformance, Pack) {
  expect_pack<bfloat16>(&Rounded::bfloat16);
  expect_pack<half>(&Rounded::half);
}

/// The value of 16 bits by the definition of the format.
double value_of(Word bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1)) *
                          std::exp2(static_cast<double>(-fraction_bits));
  const double size =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits & 0x8000u ? -size : size;
}
template <class T>
void expect_unpack(int exponent_bits) {
  Words in = random_words(threads, 6);
  const Word top = (1u << exponent_bits) - 1;
  for (Word& pair : in)  // finite ones
    for (const int shift : {0, 16})
      if ((pair >> (shift + 15 - exponent_bits) & top) == top)
        pair ^= Word{1} << (shift + 15 - exponent_bits);
  in[0] = 0x00010000u;  // the smallest, and 0
  in[1] = 0x80008001u;
  EXPECT_EQ(difference(run<Unpack<T>>(in), 3,
                       [&](int t, int i) {
                         if (i == 2) return in[at(t)];
                         const Word bits = in[at(t)] >> (16 * i) & 0xffffu;
                         return bits_of(static_cast<float>(value_of(bits, exponent_bits)));
                       }),
            "");
}
TEST(Conformance, Unpack) {
  expect_unpack<bfloat16>(8);
  expect_unpack<half>(5);
}

TEST(Conformance, CopyAsync) {
  const Words in = random_words(1024, 7);
  EXPECT_EQ(difference(run<CopyAsync>(in), 9,
                       [&](int t, int i) {
                         const int other = t ^ 1;
                         const bool zero = other % 3 == i / 4;
                         if (i == 8) return zero ? 0u : in[at(3 * other)];
                         return zero ? 0u : in[at(i / 4 * 512 + 4 * other + i % 4)];
                       }),
            "");
}

template <bool Transposed>
void expect_matrices() {
  const Words in = random_words(512, 8);
  const auto element = [&](int row, int column) {
    return in[at(4 * row + column / 2)] >> (16 * (column % 2)) & 0xffffu;
  };
  EXPECT_EQ(difference(run<LoadMatrix<Transposed>>(in), 4,
                       [&](int t, int matrix) {
                         const int lane = t % 32, r = lane / 4, c = lane % 4 * 2;
                         const int first = (t / 32 ^ 1) * 32 + (matrix ^ 1) * 8;
                         const auto x = [&](int i, int j) {
                           return Transposed ? element(first + j, i) : element(first + i, j);
                         };
                         return x(r, c) | x(r, c + 1) << 16;
                       }),
            "");
}
TEST(Conformance, LoadMatrix) { expect_matrices<false>(); }
TEST(Conformance, LoadMatrixTransposed) { expect_matrices<true>(); }

/// Products of whole numbers are exact in any order of the sum; of others within what a hardware
/// that truncates may lose.
template <class T>
void expect_products(bool whole) {
  using M = MultiplyAdd<T>;
  support::Random random(9);
  double a[16][16], b[16][8], c[16][8];
  Words in(M::a_words + M::b_words + 128);
  const auto next = [&] {
    return whole ? static_cast<float>(random.integer(-8, 8)) : static_cast<float>(random.normal());
  };
  const auto put = [&](int half_at, double& x) {
    const T value = T(next());
    x = static_cast<double>(static_cast<float>(value));
    in[at(half_at / 2)] |= Word{value.bits} << (16 * (half_at % 2));
  };
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) put(i * 16 + k, a[i][k]);
  for (int n = 0; n < 8; ++n)
    for (int k = 0; k < 16; ++k) put(2 * M::a_words + n * 16 + k, b[k][n]);
  for (int i = 0; i < 16; ++i)
    for (int n = 0; n < 8; ++n) {
      const float x = next();
      c[i][n] = static_cast<double>(x);
      in[at(M::a_words + M::b_words + i * 8 + n)] = bits_of(x);
    }
  const Words got = run<M>(in);
  for (int e = 0; e < 4; ++e)
    for (int t = 0; t < threads; ++t) {
      const int i = t % 32 / 4 + (e < 2 ? 0 : 8), n = t % 4 * 2 + e % 2;
      double sum = c[i][n], size = std::abs(sum);
      for (int k = 0; k < 16; ++k) {
        sum += a[i][k] * b[k][n];
        size += std::abs(a[i][k] * b[k][n]);
      }
      EXPECT_NEAR(static_cast<double>(float_of(got[at(e * threads + t)])), sum,
                  whole ? 0 : size * 0x1p-19)
          << "d[" << i << "][" << n << "]";
    }
}
TEST(Conformance, MultiplyAdd) {
  expect_products<bfloat16>(true);
  expect_products<bfloat16>(false);
  expect_products<half>(true);
  expect_products<half>(false);
}

TEST(Conformance, RoundTf32) {
  const Words got =
      of_floats<RoundTf32>({1.f, 0.f, 0x1.002p0f, 0.f, 0x1.001ffep0f, 0.f, -0x1.002p0f, 0.f,
                            0x1.006p0f, 0.f, 0x1.005p0f, 0.f, 0x1.ffffp3f, 0.f});
  // Eleven bits, halves away from 0; what lies below them is not looked at.
  const float expected[] = {1.f, 0x1.004p0f, 1.f, -0x1.004p0f, 0x1.008p0f, 0x1.004p0f, 16.f};
  for (std::size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(got[i] & ~0x1fffu, bits_of(expected[i])) << i;
}

TEST(Conformance, MultiplyAddTf32) {
  support::Random random(11);
  for (const bool whole : {true, false}) {
    Words in(128 + 64 + 128);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x =
          whole ? static_cast<float>(random.integer(-8, 8)) : static_cast<float>(random.normal());
      in[i] = i < 192 ? bits_of(x) & ~0x1fffu : bits_of(x);
    }
    const auto number = [&](int i) { return static_cast<double>(float_of(in[at(i)])); };
    const Words got = run<MultiplyAddTf32>(in);
    for (int e = 0; e < 4; ++e)
      for (int t = 0; t < threads; ++t) {
        const int i = t % 32 / 4 + (e < 2 ? 0 : 8), n = t % 4 * 2 + e % 2;
        double sum = number(192 + i * 8 + n), size = std::abs(sum);
        for (int k = 0; k < 8; ++k) {
          sum += number(i * 8 + k) * number(128 + n * 8 + k);
          size += std::abs(number(i * 8 + k) * number(128 + n * 8 + k));
        }
        EXPECT_NEAR(static_cast<double>(float_of(got[at(e * threads + t)])), sum,
                    whole ? 0 : size * 0x1p-19)
            << "d[" << i << "][" << n << "]";
      }
  }
}

TEST(Conformance, SwizzledTile) {
  const Words in = random_words(Tile::rows * Tile::width / 2, 10);
  EXPECT_EQ(difference(run<Tile>(in), Tile::results,
                       [&](int t, int i) {
                         const int pair = i * threads + t, row = pair / 64, column = pair % 64 * 2;
                         if (row >= Tile::rows || column >= Tile::width) return 0u;
                         return in[at((row * Tile::width + column) / 2)];
                       }),
            "");
}

}  // namespace
