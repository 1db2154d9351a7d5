// The primitives of sm_90a give what the PTX ISA says: of the emulated device, and of a real one
// where nvcc compiles this.
#include "conformance_sm90.hpp"

#include <gtest/gtest.h>

#include "conformance_case.hpp"

namespace {

using namespace conformance;
using ashlar::index_t, ashlar::TensorView;

constexpr index_t B = 2, S = 50, N = 3, H = 104;  // of the tensor with a map, at least one row

template <class Section>
Words run(const Words& in, const Words& tensor = Words(B * S * N * H / 2)) {
  support::PoisonedBuffer<Word> out(Section::blocks * Section::results * Section::threads);
  const TensorView<const bfloat16, 4> x(reinterpret_cast<const bfloat16*>(tensor.data()),
                                        {B, S, N, H});
  emulation::launch<KernelSm90<Section>>({x, in.data(), out.data()});
  return Words(out.data(), out.data() + out.size());
}

TEST(ConformanceSm90, Election) {
  const Words got = run<Election>({0});
  for (int block = 0; block < 3; ++block)
    for (int t = 0; t < 128; ++t) {
      const std::size_t own = at(block * 3 * 128 + t);
      EXPECT_EQ(std::popcount(got[own]), 1) << "lanes elected";
      EXPECT_EQ(got[own + 128], static_cast<Word>(t / 32 * 32 * 3));
      EXPECT_EQ(got[own + 256], 3u);
    }
}

TEST(ConformanceSm90, NamedBarriers) {
  const Words in = random_words(256, 1);
  EXPECT_EQ(difference(
                run<NamedBarriers>(in), 1, [&](int t, int) { return in[at(t ^ 128 ^ 35)]; }, 256),
            "");
}

TEST(ConformanceSm90, SharedBarriers) {
  const Words in = random_words(256, 2);
  EXPECT_EQ(difference(run<SharedBarriers>(in), 2,
                       [&](int t, int i) { return in[at(128 * i + (t ^ 77))]; }),
            "");
}

TEST(ConformanceSm90, CopyBox) {
  const Words tensor = random_words(static_cast<int>(B * S * N * H / 2), 3);
  EXPECT_EQ(
      difference(run<CopyBox>({0}, tensor), CopyBox::results,
                 [&](int t, int i) {
                   const int word = i * 128 + t, box = word / 2048, in_box = word % 2048;
                   const int row = in_box / 32, place = in_box % 32 / 4;
                   const int column = ((place ^ (row & 7)) * 4 + in_box % 4) * 2;
                   const index_t h = CopyBox::columns[box] + column;
                   const index_t s = CopyBox::rows[box] + row;
                   if (h >= H || s >= S) return 0u;
                   const index_t n = CopyBox::heads[box], b = CopyBox::b[box];
                   return tensor[static_cast<std::size_t>((((b * S + s) * N + n) * H + h) / 2)];
                 }),
      "");
}

/// Elements of [rows][columns] as words, and their values.
template <class T>
struct Matrix {
  Matrix(int rows, int columns_, bool whole, support::Random& random) : columns(columns_) {
    for (int i = 0; i < rows * columns; ++i) {
      const T x = T(whole ? static_cast<float>(random.integer(-8, 8))
                          : static_cast<float>(random.normal()));
      values.push_back(static_cast<double>(static_cast<float>(x)));
      if (i % 2 == 0) words.push_back(0);
      words.back() |= Word{x.bits} << (16 * (i % 2));
    }
  }
  double operator()(int row, int column) const { return values[at(row * columns + column)]; }

  int columns;
  std::vector<double> values;
  Words words;
};

/// `got` against start(column block, element) + a b, exactly where the elements are whole numbers.
template <class Value, class Start>
void expect_sums(const Words& got, int blocks, int K, bool whole, Value value, Start start) {
  int wrong = 0;
  for (int t = 0; t < 128; ++t)
    for (int j = 0; j < blocks; ++j)
      for (int e = 0; e < 4; ++e) {
        const int row = t / 32 * 16 + t % 32 / 4 + e / 2 * 8, column = 8 * j + t % 4 * 2 + e % 2;
        double sum = start(j, e), size = std::abs(sum);
        for (int k = 0; k < K; ++k) {
          sum += value(row, k, column);
          size += std::abs(value(row, k, column));
        }
        const auto g = static_cast<double>(float_of(got[at((4 * j + e) * 128 + t)]));
        if (std::abs(g - sum) <= (whole ? 0 : size * 0x1p-19)) continue;
        if (++wrong < 4)
          ADD_FAILURE() << "d[" << row << "][" << column << "]: " << g << ", expected " << sum;
      }
  EXPECT_EQ(wrong, 0) << "of " << 64 * 8 * blocks << " sums";
}

template <class T, int Blocks>
void expect_tiles() {
  SCOPED_TRACE(testing::Message() << "N " << 8 * Blocks);
  using M = MultiplyTiles<T, Blocks>;
  for (const bool whole : {true, false}) {
    support::Random random(4);
    const Matrix<T> a(64, M::K, whole, random), b(M::N, M::K, whole, random);
    Words in = a.words;
    in.insert(in.end(), b.words.begin(), b.words.end());
    expect_sums(
        run<M>(in), Blocks, M::K, whole, [&](int i, int k, int n) { return a(i, k) * b(n, k); },
        [](int, int) { return 0.; });
  }
}
TEST(ConformanceSm90, MultiplyTiles) {
  expect_tiles<bfloat16, 10>();
  expect_tiles<bfloat16, 12>();
  expect_tiles<bfloat16, 16>();
  expect_tiles<half, 10>();
  expect_tiles<half, 16>();
}

template <class T, int Blocks>
void expect_fragment() {
  SCOPED_TRACE(testing::Message() << "N " << 8 * Blocks);
  using M = MultiplyFragment<T, Blocks>;
  for (const bool whole : {true, false}) {
    support::Random random(5);
    const Matrix<T> a(64, M::K, whole, random), b(M::K, M::N, whole, random);
    Words in = a.words;
    in.insert(in.end(), b.words.begin(), b.words.end());
    expect_sums(
        run<M>(in), Blocks, M::K, whole, [&](int i, int k, int n) { return a(i, k) * b(k, n); },
        [](int j, int e) { return static_cast<double>(j - e); });
  }
}
TEST(ConformanceSm90, MultiplyFragment) {
  expect_fragment<bfloat16, 8>();
  expect_fragment<bfloat16, 16>();
  expect_fragment<bfloat16, 24>();
  expect_fragment<bfloat16, 32>();
  expect_fragment<half, 8>();
  expect_fragment<half, 32>();
}

}  // namespace
