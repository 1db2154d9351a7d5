// The emulated device finds the faults that it is there for, and computes what the instructions do.
#include <gtest/gtest.h>

#include <cmath>

#include "emulation/launch.hpp"
#include "support/random.hpp"

namespace {

using emulation::Copies;
using emulation::Device;
using emulation::Schedule;

/// Runs a kernel, written as a function, in one block; returns the fault.
template <int Warps = 2, class Body>
std::string fault_of(Body body, Schedule schedule = {}, std::size_t shared_bytes = 4096) {
  emulation::Block block(32 * Warps, shared_bytes, schedule);
  try {
    block.run({}, body);
  } catch (const emulation::Fault& fault) {
    return fault.what();
  }
  return "";
}
bool found(const std::string& fault, const std::string& words) {
  return fault.find(words) != std::string::npos;
}
std::uint32_t own(int bytes = 4) { return static_cast<std::uint32_t>(Device::thread() * bytes); }

TEST(Emulation, FindsAReadThatNoBarrierOrders) {
  const auto body = [](bool barrier) {
    return [barrier] {
      Device::store_shared(own(), 1.f);
      if (barrier) Device::sync_block();
      Device::load_shared<float>((own() + 128) % 256);
      if (barrier) Device::sync_block();
    };
  };
  EXPECT_EQ(fault_of(body(true)), "");
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_TRUE(found(fault_of(body(false), {Copies::lazy, seed}), "race")) << seed;
}

TEST(Emulation, FindsAWriteAfterAReadOfAnotherWarp) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_TRUE(found(fault_of(
                          [] {
                            Device::store_shared(own(), 1.f);
                            Device::sync_block();
                            Device::load_shared<float>((own() + 128) % 256);
                            Device::store_shared(own(), 2.f);
                          },
                          {Copies::lazy, seed}),
                      "race"));
}

TEST(Emulation, FindsAMissingSyncwarpBetweenLanes) {
  const auto body = [](bool sync) {
    return [sync] {
      Device::store_shared(own(), 1.f);
      Device::shuffle_xor(1.f, 1);  // meets the other lanes, orders no memory
      if (sync) Device::sync_warp();
      Device::load_shared<float>(own() ^ 4u);
    };
  };
  EXPECT_EQ(fault_of(body(true)), "");
  EXPECT_TRUE(found(fault_of(body(false)), "race"));
}

TEST(Emulation, FindsAReadOfACopyUnderWay) {
  alignas(16) static const float data[64] = {};
  const auto body = [](int how) {
    return [how] {
      if (Device::thread() < 16) Device::copy_async(own(16), data + 4 * Device::thread(), true);
      Device::commit_copies();
      if (how != 0) Device::wait_copies<0>();
      if (how != 1) Device::sync_block();
      Device::load_shared<float>(own() ^ 16u);
      Device::sync_block();
      Device::wait_copies<0>();
    };
  };
  for (const Copies copies : {Copies::lazy, Copies::eager}) {
    EXPECT_EQ(fault_of(body(2), {copies}), "");
    EXPECT_TRUE(found(fault_of(body(0), {copies}), "under way"));  // no wait
    EXPECT_NE(fault_of(body(1), {copies}), "");                    // no barrier after it
  }
}

TEST(Emulation, LazyCopiesLandAtTheWaitAndEagerOnesAtOnce) {
  for (const Copies copies : {Copies::lazy, Copies::eager}) {
    alignas(16) float data[4] = {1, 1, 1, 1};
    float seen = 0;
    EXPECT_EQ(fault_of<1>(
                  [&] {
                    if (Device::thread() != 0) return;
                    Device::copy_async(0, data, true);
                    Device::commit_copies();
                    data[0] = 2;
                    Device::wait_copies<0>();
                    seen = Device::load_shared<float>(0);
                  },
                  {copies}),
              "");
    EXPECT_EQ(seen, copies == Copies::lazy ? 2.f : 1.f);
  }
}

TEST(Emulation, FindsFaultsOfInstructions) {
  EXPECT_TRUE(found(fault_of([] { Device::load_shared<float>(2); }), "misaligned"));
  EXPECT_TRUE(found(fault_of([] { Device::store_shared(4096, 1.f); }), "4096 bytes"));
  EXPECT_TRUE(found(fault_of([] {
                      if (Device::thread() < 32) Device::sync_block();
                    }),
                    "deadlock"));
  EXPECT_TRUE(found(fault_of([] {
                      if (Device::thread() % 2) Device::shuffle_xor(1.f, 1);
                    }),
                    "left before"));
  EXPECT_TRUE(found(fault_of([] {
                      if (Device::thread() % 2)
                        Device::shuffle_xor(1.f, 1);
                      else
                        Device::ballot(true);
                    }),
                    "diverge"));
  alignas(16) static const float data[8] = {};
  EXPECT_TRUE(found(fault_of([] { Device::copy_async(0, data + 1, true); }), "misaligned"));
  EXPECT_TRUE(found(fault_of([] {
                      if (Device::thread() == 0) Device::copy_async(0, data, true);
                    }),
                    "ends with asynchronous copies"));
}

TEST(Emulation, SharedMemoryBeginsAsNaN) {
  bool all = true;
  EXPECT_EQ(fault_of([&] { all = all && std::isnan(Device::load_shared<float>(own())); }), "");
  EXPECT_TRUE(all);
}

/// The product of two matrices, loaded with ldmatrix, against plain loops.
template <class T, bool Transposed>
void expect_product() {
  support::Random random(7);
  T a[16][16], b[16][16];  // b [k][n], n of 16 as two blocks of 8
  for (auto& row : a)
    for (T& x : row) x = T(static_cast<float>(random.normal()));
  for (auto& row : b)
    for (T& x : row) x = T(static_cast<float>(random.normal()));
  float d[16][16];
  EXPECT_EQ(
      (fault_of<1>([&] {
        const int lane = Device::thread();
        for (int i = lane; i < 256; i += 32) {  // pairs of a at 0, of b or its transpose at 1024
          if (i >= 128) break;
          const int r = i / 8, c = i % 8 * 2;
          const auto pair = [](T low, T high) { return low.bits | std::uint32_t{high.bits} << 16; };
          Device::store_shared(static_cast<std::uint32_t>(r * 32 + c * 2),
                               pair(a[r][c], a[r][c + 1]));
          Device::store_shared(
              static_cast<std::uint32_t>(1024 + r * 32 + c * 2),
              Transposed ? pair(b[r][c], b[r][c + 1]) : pair(b[c][r], b[c + 1][r]));
        }
        Device::sync_warp();
        std::uint32_t left[4], right[4];
        const auto row = [](int r, int chunk) {
          return static_cast<std::uint32_t>(r * 32 + chunk * 16);
        };
        Device::load_matrix(left, row(lane % 16, lane / 16));
        if (Transposed)
          Device::load_matrix_transposed(right, 1024 + row(lane % 16, lane / 16));
        else
          Device::load_matrix(right, 1024 + row(lane % 8 + lane / 16 * 8, lane / 8 % 2));
        for (int block = 0; block < 2; ++block) {
          float sum[4] = {};
          Device::multiply_add<T>(sum, left, right[2 * block], right[2 * block + 1]);
          for (int i = 0; i < 4; ++i)
            d[lane / 4 + i / 2 * 8][8 * block + lane % 4 * 2 + i % 2] = sum[i];
        }
      })),
      "");
  for (int i = 0; i < 16; ++i)
    for (int n = 0; n < 16; ++n) {
      double want = 0;
      for (int k = 0; k < 16; ++k) want += double(float(a[i][k])) * double(float(b[k][n]));
      EXPECT_NEAR(d[i][n], want, 2e-5);
    }
}
TEST(Emulation, MatrixProductsAreThoseOfPlainLoops) {
  expect_product<ashlar::bfloat16, false>();
  expect_product<ashlar::bfloat16, true>();
  expect_product<ashlar::half, false>();
  expect_product<ashlar::half, true>();
}

}  // namespace
