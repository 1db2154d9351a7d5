// Copies of what a launch points to, on a device that is a piece of the host's heap.
#include "mirror.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "support/message.hpp"
#include "support/poison.hpp"

namespace {

struct HeapDevice {
  void* allocate(std::size_t bytes) {
    void* p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    blocks.insert(p);
    return p;
  }
  void release(void* p) {
    EXPECT_EQ(blocks.erase(p), 1u);
    std::free(p);
  }
  void to_device(void* to, const void* from, std::size_t n) { std::memcpy(to, from, n); }
  void from_device(void* to, const void* from, std::size_t n) { std::memcpy(to, from, n); }

  std::set<void*> blocks;
};

/// As kernels have them: pointers beside numbers.
struct Arguments {
  const float* in;
  std::ptrdiff_t count;
  float *out, *middle, *outside;
};

class MirrorTest : public testing::Test {
 protected:
  MirrorTest() : in(7), out(7) {
    for (std::ptrdiff_t i = 0; i < 7; ++i) in[i] = static_cast<float>(i);
    arguments = {in.data(), 7, out.data(), out.data() + 3, &elsewhere};
  }
  template <class Run>
  std::string fault_of(Run run) {
    return support::message_of<emulation::Fault>(
        [&] { gpu_test::run_mirrored(device, arguments, run); });
  }

  HeapDevice device;
  support::PoisonedBuffer<float> in, out;
  float elsewhere = 0;  // not in a piece that is known
  Arguments arguments;
};

TEST_F(MirrorTest, ResultsComeBackThroughMovedPointers) {
  EXPECT_EQ(fault_of([&](const Arguments& a) {
              EXPECT_NE(a.in, in.data());
              EXPECT_EQ(a.middle, a.out + 3) << "two pointers into one piece";
              EXPECT_EQ(a.outside, &elsewhere);
              EXPECT_EQ(a.count, 7);
              const auto place = [](const float* p) {
                return reinterpret_cast<std::uintptr_t>(p) % 256;
              };
              EXPECT_EQ(place(a.in), place(in.data())) << "alignment";
              EXPECT_TRUE(std::isnan(a.out[0])) << "poisoned before every run";
              for (int i = 0; i < 7; ++i) a.out[i] = 2 * a.in[i];
            }),
            "");
  for (std::ptrdiff_t i = 0; i < 7; ++i) EXPECT_EQ(out[i], 2 * in[i]);
  EXPECT_TRUE(device.blocks.empty());
}

TEST_F(MirrorTest, FindsRunsThatDiffer) {
  int runs = 0;
  EXPECT_NE(fault_of([&](const Arguments& a) {
              for (int i = 0; i < 7; ++i) a.out[i] = 1.f;
              if (++runs == 2) a.out[6] = 1.0000001f;
            }).find("differ"),
            std::string::npos);
  EXPECT_EQ(runs, 2);
}

TEST_F(MirrorTest, FindsWritesOutside) {
  EXPECT_NE(fault_of([](const Arguments& a) { a.out[7] = 0; }).find("0 bytes behind"),
            std::string::npos);
  EXPECT_NE(fault_of([](const Arguments& a) { a.out[-1] = 0; }).find("4 bytes ahead"),
            std::string::npos);
}

TEST(MemoryRanges, KnowWhatIsInsideOnly) {
  auto& ranges = support::MemoryRanges::all();
  static float piece[4];
  const auto begin = reinterpret_cast<std::uintptr_t>(piece);
  EXPECT_EQ(ranges.find(begin).size, 0u);
  ranges.add(piece, sizeof piece);
  EXPECT_EQ(ranges.find(begin).size, sizeof piece);
  EXPECT_EQ(ranges.find(begin + 15).begin, reinterpret_cast<std::byte*>(piece));
  EXPECT_EQ(ranges.find(begin + 16).size, 0u);
  EXPECT_EQ(ranges.find(begin - 1).size, 0u);
  ranges.remove(piece);
  EXPECT_EQ(ranges.find(begin).size, 0u);
}

}  // namespace
