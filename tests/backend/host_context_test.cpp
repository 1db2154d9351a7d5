#include <gtest/gtest.h>

#include <ashlar/backend/scalar.hpp>
#include <cstdint>
#include <string>

namespace {

using namespace ashlar;
using Scalar = Context<backend::ScalarCpu>;

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const ValueError& e) {
    return e.what();
  }
  return "";
}

TEST(HostContext, IsSerialUnlessToldOtherwise) {
  Scalar ctx;
  EXPECT_EQ(ctx.workers(), 1);
  Executor three;
  three.workers = 3;
  ctx.set_executor(three);
  EXPECT_EQ(ctx.workers(), 3);
  EXPECT_EQ(Scalar(three).workers(), 3);
}
TEST(HostContext, RefusesExecutorsThatCannotRun) {
  Executor none, nobody;
  none.run = nullptr;
  nobody.workers = 0;
  EXPECT_EQ(message([&] { Scalar ctx(nobody); }),
            "Context: executor has 0 workers, expected at least 1");
  EXPECT_NE(message([&] { Scalar ctx(none); }), "");
  Scalar ctx;
  EXPECT_NE(message([&] { ctx.set_executor(nobody); }), "");
  EXPECT_EQ(ctx.workers(), 1);
}
TEST(HostContext, ProductModeInt8IsAClearError) {
  Scalar ctx;
  EXPECT_EQ(ctx.product_mode(), ProductMode::exact);
  EXPECT_EQ(message([&] { ctx.set_product_mode(ProductMode::int8); }),
            "Context: product mode int8 is not available in this version, expected exact");
  ctx.set_product_mode(ProductMode::exact);
  EXPECT_EQ(ctx.product_mode(), ProductMode::exact);
}
TEST(HostContext, AllocatesOnCacheLines) {
  Scalar ctx;
  void* p = ctx.allocate(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
  ctx.deallocate(p, 100);
  ctx.synchronize();
}

}  // namespace
