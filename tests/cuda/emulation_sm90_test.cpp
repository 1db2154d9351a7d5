// The emulated sm_90a finds the faults that it is there for.
#include <gtest/gtest.h>

#include <ashlar/cuda/matrix_descriptor.hpp>
#include <ashlar/cuda/tensor_map.hpp>

#include "emulation/launch.hpp"

namespace {

using namespace ashlar::cuda;
using Device = emulation::DeviceSm90;
using emulation::Copies;
constexpr std::uint32_t barrier = 65536 - 64, tile = 0;

/// Runs a kernel, written as a function, in one block of one warpgroup and another; the fault.
template <class Body>
std::string fault_of(Body body, Copies copies = Copies::lazy, std::uint64_t seed = 1) {
  emulation::Block block(256, 65536, {copies, seed});
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
const std::string nothing;

/// Rows of 64 elements.
struct Rows {
  alignas(16) std::uint16_t data[64 * 64] = {};
  TensorMap map() const {
    return emulation::encode_map(TensorBoxes{data, {64, 64, 1, 1}, {128, 16, 16}, 64});
  }
};
constexpr std::uint32_t box_bytes = 64 * 128;

void init(int arrivals = 1) {
  if (Device::thread() == 0) Device::init_barrier(barrier, arrivals);
  Device::sync_block();
}
/// One thread copies a box; all wait for it, unless told otherwise.
void copy(const TensorMap& map, std::uint32_t bytes = box_bytes) {
  if (Device::thread() != 0) return;
  Device::arrive_expecting(barrier, bytes);
  Device::copy_box(tile, map, barrier, 0, 0, 0, 0);
}
void read() { Device::load_shared<float>(tile + 4 * static_cast<std::uint32_t>(Device::thread())); }

TEST(EmulationSm90, CopiesAreThereAfterTheirBarrier) {
  const Rows rows;
  const auto map = rows.map();
  for (const Copies copies : {Copies::lazy, Copies::eager})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      EXPECT_EQ(nothing, fault_of(
                             [&] {
                               init();
                               copy(map);
                               Device::wait_barrier(barrier, 0);
                               read();
                             },
                             copies, seed));
      EXPECT_NE(nothing, fault_of(
                             [&] {
                               init();
                               copy(map);
                               read();
                             },
                             copies, seed));
    }
}

TEST(EmulationSm90, WaitingForOneCopyTellsNothingOfAnother) {
  const Rows rows;
  const auto map = rows.map();
  const std::string fault = fault_of(
      [&] {
        if (Device::thread() == 0) Device::init_barrier(barrier + 8, 1);
        init();
        copy(map);
        if (Device::thread() == 0) {
          Device::arrive_expecting(barrier + 8, box_bytes);
          Device::copy_box(tile + box_bytes, map, barrier + 8, 0, 0, 0, 0);
        }
        Device::wait_barrier(barrier + 8, 0);
        read();  // of the first one, which may have landed too
      },
      Copies::eager);
  EXPECT_TRUE(found(fault, "race")) << fault;
}

TEST(EmulationSm90, BytesAndArrivalsMustBeRight) {
  const Rows rows;
  const auto map = rows.map();
  const auto with_bytes = [&](std::uint32_t bytes) {
    return fault_of([&, bytes] {
      init();
      copy(map, bytes);
      Device::wait_barrier(barrier, 0);
    });
  };
  EXPECT_EQ(with_bytes(box_bytes), nothing);
  EXPECT_TRUE(found(with_bytes(box_bytes / 2), "deadlock"));
  EXPECT_TRUE(found(with_bytes(box_bytes + 16), "deadlock"));
  EXPECT_TRUE(found(fault_of([] {
                      init(2);
                      if (Device::thread() == 0) Device::wait_barrier(barrier, 0);
                    }),
                    "deadlock: warp 0 waits in mbarrier.try_wait"));
  EXPECT_TRUE(found(fault_of([] { Device::arrive(barrier); }), "no barrier is there"));
  EXPECT_TRUE(found(fault_of([] {  // it is begun, but nothing orders that
                      if (Device::thread() == 32) Device::init_barrier(barrier, 1);
                      Device::sync_warp();
                      if (Device::thread() < 32) Device::wait_barrier(barrier, 1);
                    }),
                    "mbarrier.try_wait: "));
}

TEST(EmulationSm90, APhaseCountsNoArrivalTooMany) {
  const std::string fault = fault_of([] {
    init(2);
    if (Device::thread() < 3) {  // the third one belongs to the next phase, a fourth to none
      Device::arrive(barrier);
      if (Device::thread() == 2) {
        Device::arrive(barrier);
        Device::arrive_expecting(barrier, 16);
        Device::arrive(barrier);
        Device::arrive(barrier);
      }
    }
  });
  EXPECT_TRUE(found(fault, "more arrivals than the phase has")) << fault;
}

/// A product of zeros for the first warpgroup, from a tile that `fill` has filled.
template <class Fill, class After>
std::string product(Fill fill, After after, Copies copies = Copies::lazy) {
  return fault_of(
      [&] {
        init();
        fill();
        if (Device::thread() >= 128) return;
        float d[8][4] = {};
        using Tile = SharedTile<64, 64>;
        after(d, row_operand<Tile>(tile, 0));
        for (auto& block : d)
          for (float x : block)
            if (x != 0.f) emulation::Block::current().fail("a sum that is not 0");
      },
      copies);
}
void multiply(float (&d)[8][4], std::uint64_t operand) {
  Device::multiply_tiles<ashlar::half>(d, operand, operand, true);
}
void clear_tile(bool publish) {
  for (std::uint32_t i = 0; i < box_bytes / 16; i += 256)
    Device::store_shared(tile + 16 * (i + static_cast<std::uint32_t>(Device::thread())),
                         ashlar::cuda::Quad{});
  if (publish) Device::publish_writes();
  Device::sync_block();
}
void whole(float (&d)[8][4], std::uint64_t operand) {
  Device::begin_products();
  multiply(d, operand);
  Device::commit_products();
  Device::wait_products<0>();
}

TEST(EmulationSm90, ProductsSeeWhatIsPublished) {
  for (const Copies copies : {Copies::lazy, Copies::eager}) {
    EXPECT_EQ(product([] { clear_tile(true); }, whole, copies), nothing);
    EXPECT_TRUE(found(product([] { clear_tile(false); }, whole, copies), "fence.proxy.async"));
  }
}

TEST(EmulationSm90, ProductsNeedTheirFenceCommitAndWait) {
  const auto filled = [] { clear_tile(true); };
  EXPECT_TRUE(found(product(filled,
                            [](float(&d)[8][4], std::uint64_t operand) {
                              multiply(d, operand);
                              Device::commit_products();
                              Device::wait_products<0>();
                            }),
                    "no wgmma.fence"));
  EXPECT_TRUE(found(product(filled,
                            [](float(&d)[8][4], std::uint64_t operand) {
                              Device::begin_products();
                              multiply(d, operand);
                              Device::commit_products();
                            }),
                    "a sum that is not 0"));  // NaN until it is waited for
  EXPECT_TRUE(found(product(filled,
                            [](float(&d)[8][4], std::uint64_t operand) {
                              Device::begin_products();
                              multiply(d, operand);
                              for (auto& block : d)
                                for (float& x : block) x = 0.f;
                            }),
                    "products under way"));
  EXPECT_TRUE(found(product(filled,
                            [](float(&d)[8][4], std::uint64_t operand) {
                              whole(d, Device::thread() < 32 ? operand : operand + 2);
                            }),
                    "different products"));
  EXPECT_TRUE(found(
      product(filled, [](float(&d)[8][4],
                         std::uint64_t operand) { whole(d, operand & ~(std::uint64_t{3} << 62)); }),
      "without the 128-byte swizzle"));
}

TEST(EmulationSm90, APlaceInUseIsNotFilled) {
  const Rows rows;
  const auto map = rows.map();
  for (const Copies copies : {Copies::lazy, Copies::eager}) {
    const std::string fault = fault_of(
        [&] {
          init();
          copy(map);
          Device::wait_barrier(barrier, 0);
          Device::sync_block();
          read();
          copy(map);  // nobody has said that it is read
        },
        copies);
    EXPECT_TRUE(found(fault, "race") || found(fault, "under way")) << fault;
  }
}

TEST(EmulationSm90, BarriersOfSomeThreads) {
  const auto with = [](int threads) {
    return fault_of([threads] {
      if (Device::thread() < 128)
        Device::sync_threads(1, 256);
      else
        Device::arrive_threads(1, threads);
    });
  };
  EXPECT_EQ(with(256), nothing);
  EXPECT_TRUE(found(with(128), "a barrier of"));
  EXPECT_TRUE(found(fault_of([] {
                      if (Device::thread() < 128) Device::sync_threads(1, 256);
                    }),
                    "deadlock"));
}

TEST(EmulationSm90, RegistersComeFromOtherWarpgroups) {
  const auto with = [](bool give) {
    return fault_of([give] {
      if (Device::thread() >= 128)
        Device::take_registers<256>();
      else if (give)
        Device::give_registers<24>();
      Device::sync_warp();
    });
  };
  EXPECT_EQ(with(true), nothing);
  EXPECT_EQ(with(false), nothing);  // 256 threads begin with 256 each
  EXPECT_TRUE(found(fault_of([] { Device::take_registers<240>(); }), "from 256 registers"));
}

}  // namespace
