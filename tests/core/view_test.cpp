#include <gtest/gtest.h>
#include <sys/mman.h>

#include <ashlar/core/view.hpp>
#include <numeric>
#include <vector>

namespace {

using namespace ashlar;

template <class E, class F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

struct Numbers {
  Numbers() : data(120) { std::iota(data.begin(), data.end(), 0.f); }
  std::vector<float> data;
};

static_assert(std::is_trivially_copyable_v<TensorView<float, 4>>);
static_assert(std::is_convertible_v<MatrixView<float>, MatrixView<const float>>);
static_assert(!std::is_convertible_v<MatrixView<const float>, MatrixView<float>>);
static_assert(!std::is_convertible_v<MatrixView<float>, MatrixView<const double>>);

TEST(TensorView, ContiguousIsRowMajor) {
  Numbers n;
  const TensorView<float, 3> v(n.data.data(), {2, 3, 5});
  EXPECT_EQ(v.size(), 30);
  EXPECT_EQ(v.stride(0), 15);
  EXPECT_EQ(v.stride(1), 5);
  EXPECT_EQ(v.stride(2), 1);
  EXPECT_EQ(v(1, 2, 3), 28.f);
  EXPECT_TRUE(v.contiguous());
  const TensorView<const float, 3> c = v;
  EXPECT_EQ(c.data(), v.data());
  EXPECT_EQ(c.stride(0), 15);
}
TEST(TensorView, StridesReachEveryElement) {
  Numbers n;
  // [heads, tokens, width] over memory that is [tokens, heads, width].
  const TensorView<float, 3> v(n.data.data(), {4, 6, 5}, {5, 20, 1});
  for (index_t h = 0; h < 4; ++h)
    for (index_t t = 0; t < 6; ++t)
      for (index_t i = 0; i < 5; ++i) ASSERT_EQ(v(h, t, i), static_cast<float>(t * 20 + h * 5 + i));
  EXPECT_FALSE(v.contiguous());
  EXPECT_EQ(v.at(2).row(3), n.data.data() + 70);
}
TEST(TensorView, ContractV11StrideZeroRepeatsARow) {
  Numbers n;
  const MatrixView<float> v(n.data.data() + 7, {1000, 3}, {0, 1});
  EXPECT_EQ(v(999, 2), 9.f);
  EXPECT_EQ(v.row(0), v.row(999));
}
TEST(TensorView, LastStrideOtherThanOneIsAnError) {
  Numbers n;
  EXPECT_EQ(message<ValueError>([&] {
              MatrixView<float>(n.data.data(), {2, 3}, {6, 2});
            }),
            "TensorView: last stride is 2, expected 1");
  EXPECT_EQ(message<ValueError>([&] {
              MatrixView<float>(n.data.data(), {3, 2}, {1, 3});
            }),
            "TensorView: last stride is 3, expected 1");
  // A last extent of 1 has no step to take.
  EXPECT_EQ(MatrixView<float>(n.data.data(), {5, 1}, {4, 4})(2, 0), 8.f);
}
TEST(TensorView, Slices) {
  Numbers n;
  const TensorView<float, 3> v(n.data.data(), {4, 6, 5});
  const auto s = v.slice(1, 2, 5).slice(2, 1, 3);
  EXPECT_EQ(s.extent(0), 4);
  EXPECT_EQ(s.extent(1), 3);
  EXPECT_EQ(s.extent(2), 2);
  EXPECT_EQ(s(3, 2, 1), v(3, 4, 2));
  EXPECT_EQ(&s(0, 0, 0), &v(0, 2, 1));
  EXPECT_TRUE(v.slice(0, 2, 2).empty());
  EXPECT_EQ(v.at(3).at(5)(4), 119.f);
}
TEST(TensorView, Empty) {
  Numbers n;
  EXPECT_TRUE(VectorView<float>().empty());
  EXPECT_TRUE(MatrixView<float>(n.data.data(), {3, 0}).empty());
  EXPECT_TRUE(MatrixView<float>(nullptr, {3, 2}).empty());
  EXPECT_FALSE(MatrixView<float>(n.data.data(), {1, 1}).empty());
}
TEST(TensorView, ContiguousIgnoresStridesOfSingleEntries) {
  Numbers n;
  EXPECT_TRUE(MatrixView<float>(n.data.data(), {1, 5}, {77, 1}).contiguous());
  EXPECT_FALSE(MatrixView<float>(n.data.data(), {2, 5}, {6, 1}).contiguous());
}

TEST(TensorView, SplitAndMergeHeads) {
  Numbers n;
  const MatrixView<float> x(n.data.data(), {3, 12}, {40, 1});
  const auto heads = split_heads(x, 4);
  EXPECT_EQ(heads.extent(1), 4);
  EXPECT_EQ(heads.extent(2), 3);
  EXPECT_EQ(heads(2, 3, 1), x(2, 10));
  const auto merged = merge_heads(heads);
  EXPECT_EQ(merged.extent(1), 12);
  EXPECT_EQ(merged.stride(0), 40);
  EXPECT_EQ(&merged(2, 11), &x(2, 11));
  EXPECT_EQ(message<ShapeError>([&] { split_heads(x, 5); }),
            "split_heads: width 12 does not divide into 5 heads");
  EXPECT_NE(message<ShapeError>([&] { split_heads(x, 0); }), "");
  EXPECT_NE(message<ShapeError>([&] { split_heads(x, -4); }), "");
  EXPECT_EQ(message<ShapeError>([&] { merge_heads(heads.slice(2, 0, 2)); }),
            "merge_heads: heads are 3 elements apart, expected 2");
}

TEST(TensorView, ContractV11IndicesPassTwoToThe31) {
  // Queries of a fused projection of 3 x 56 heads of 128: row 99865 starts beyond 2^31 elements.
  const std::size_t bytes = std::size_t{9} << 30;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no 9 GiB of addresses here";
  auto* base = static_cast<float*>(memory);
  const index_t stride = 3 * 56 * 128, row = 99865;
  const TensorView<float, 3> q(base, {row + 1, 56, 128}, {stride, 128, 1});
  EXPECT_EQ(&q(row, 0, 0) - base, 2147496960);
  EXPECT_EQ(q.at(row).row(1) - base, 2147496960 + 128);
  EXPECT_EQ(q.slice(0, row, row + 1).data() - base, 2147496960);
  const MatrixView<float> rows(base, {row + 1, stride});
  EXPECT_EQ(rows.size(), 2147518464);
  rows(row, 5) = 3;
  EXPECT_EQ(base[2147496965], 3.f);
  EXPECT_EQ(split_heads(rows, 168)(row, 0, 5), 3.f);
  munmap(memory, bytes);
}

TEST(ExpectShape, NamesOpArgumentGotAndExpected) {
  Numbers n;
  const MatrixView<float> v(n.data.data(), {2, 3});
  expect_shape("op", "x", v, {2, 3});
  EXPECT_EQ(message<ShapeError>([&] {
              expect_shape("op", "x", v, {2, 4});
            }),
            "op: x has shape [2, 3], expected [2, 4]");
  EXPECT_EQ(message<ShapeError>([&] {
              expect_shape("op", "x", v, {3, 3});
            }),
            "op: x has shape [2, 3], expected [3, 3]");
}

TEST(IndexHelpers, RoundUp) {
  EXPECT_EQ(ceil_div(0, 16), 0);
  EXPECT_EQ(ceil_div(1, 16), 1);
  EXPECT_EQ(ceil_div(16, 16), 1);
  EXPECT_EQ(ceil_div(17, 16), 2);
  EXPECT_EQ(round_up(17, 16), 32);
  EXPECT_EQ(min_index(2, -3), -3);
  EXPECT_EQ(max_index(2, -3), 2);
}

}  // namespace
