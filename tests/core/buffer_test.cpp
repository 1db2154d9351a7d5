#include <gtest/gtest.h>

#include <algorithm>
#include <ashlar/core/buffer.hpp>
#include <cstdint>
#include <string>

namespace {

using namespace ashlar;

static_assert(!std::is_copy_constructible_v<Buffer<float>> &&
              !std::is_copy_assignable_v<Buffer<float>>);
static_assert(std::is_nothrow_move_constructible_v<Buffer<float>> &&
              std::is_nothrow_move_assignable_v<Buffer<float>>);

TEST(Buffer, IsAlignedAndZero) {
  for (const index_t size : {1, 3, 16, 1000, 100000}) {
    Buffer<float> b(size);
    EXPECT_EQ(b.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 0u);
    EXPECT_EQ(std::count(b.begin(), b.end(), 0.f), size);
    b[size - 1] = 2;
    EXPECT_EQ(*(b.end() - 1), 2.f);
  }
}
TEST(Buffer, EmptyOwnsNothing) {
  EXPECT_EQ(Buffer<float>().data(), nullptr);
  EXPECT_EQ(Buffer<float>(0).data(), nullptr);
  EXPECT_EQ(Buffer<float>(0).size(), 0);
}
TEST(Buffer, Moves) {
  Buffer<int> a(4);
  a[3] = 7;
  const int* memory = a.data();
  Buffer<int> b(std::move(a));
  EXPECT_EQ(b.data(), memory);
  EXPECT_EQ(a.data(), nullptr);  // NOLINT: a moved-from buffer is empty
  EXPECT_EQ(a.size(), 0);
  Buffer<int> c(2);
  c = std::move(b);
  EXPECT_EQ(c.data(), memory);
  EXPECT_EQ(c.size(), 4);
  EXPECT_EQ(c[3], 7);
}
TEST(Buffer, RefusesSizesThatAreNone) {
  const auto message = [](index_t size) -> std::string {
    try {
      Buffer<double> b(size);
    } catch (const ValueError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(-1), "Buffer: size is -1");
  // The bytes would wrap around to a small number.
  EXPECT_EQ(message((index_t{1} << 61) + 1), "Buffer: size is 2305843009213693953");
}

}  // namespace
