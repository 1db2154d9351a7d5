// What the host does for the kernel of sm_90a: which problems it takes, how it divides work, what
// maps and descriptors say.
#define ASHLAR_TEST_SM90A
#include <gtest/gtest.h>

#include <ashlar/attention/score/soft_cap.hpp>
#include <ashlar/cuda/attention_arguments.hpp>
#include <ashlar/cuda/matrix_descriptor.hpp>

#include "attention_case.hpp"
#include "emulation/context.hpp"
#include "support/message.hpp"

namespace {

using namespace ashlar;
using support::message_of;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Causal; a type of this file's, as no other one compiles the kernel of sm_90a for its calls.
struct Mask {
  ASHLAR_HD bool keep(index_t, index_t, index_t q, index_t k) const { return k <= q; }
  ASHLAR_HD TileKind classify(index_t, index_t, index_t q0, index_t q1, index_t k0,
                              index_t k1) const {
    if (k0 > q1 - 1) return TileKind::skip;
    return k1 - 1 <= q0 ? TileKind::full : TileKind::partial;
  }
};

TEST(Sm90, AProgramOrDeviceWithoutItIsNamed) {
  const int compiled[] = {800, 900};
  const auto check = [&](bool has_code, int device) {
    return message_of<ValueError>(
        [&] { cuda::check_sm90a("attention_sm90", has_code, compiled, device); });
  };
  EXPECT_EQ(check(true, 90), "");
  const std::string without = check(false, 90);
  EXPECT_TRUE(has(without, "needs code for sm_90a")) << without;
  EXPECT_TRUE(has(without, "compiled for sm_80, sm_90")) << without;
  EXPECT_TRUE(has(without, "-gencode arch=compute_90a,code=sm_90a")) << without;
  const std::string newer = check(true, 100);
  EXPECT_TRUE(has(newer, "attention_sm90: the kernel runs on sm_90 only, the device is sm_100"))
      << newer;
}

template <class T>
auto problem(index_t T_, index_t S, index_t B = 2) {
  auto* data = reinterpret_cast<T*>(4096);
  const TensorView<const T, 4> q(data, {B, T_, 4, 64}), k(data, {B, S, 2, 64});
  return cuda::make_problem("attention", q, cuda::KeyRows<T>{k, k},
                            TensorView<T, 4>(data, {B, T_, 4, 64}), AttentionOptions<Mask>{});
}

TEST(Sm90, RouteSaysWhyItIsNotTaken) {
  const auto why = [](const auto& p, int architecture = 90) {
    const auto route = cuda::attention_route(p, architecture);
    EXPECT_TRUE(route.tensor_cores);
    return route.no_sm90a;
  };
  const auto p = problem<half>(3, 5);
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(why(p, 80), "the device is not sm_90");
  EXPECT_EQ(why(p, 120), "the device is not sm_90");
  EXPECT_EQ(why(problem<half>(3, 0)), "q, k or v is empty or has strides that TMA does not take");
  auto shared = p;  // one sequence's keys for all
  shared.kv.k = TensorView<const half, 4>(p.kv.k.data(), {2, 5, 2, 64}, {0, 128, 64, 1});
  EXPECT_EQ(why(shared), "q, k or v is empty or has strides that TMA does not take");
  auto packed = p;
  const std::int32_t starts[3] = {};
  packed.kv.rows.starts = starts;
  EXPECT_EQ(why(packed), "sequences are packed");
  EXPECT_EQ(why(problem<half>(index_t{1} << 30, 5, 256)),
            "there are 2^31 tiles of queries or more");
  const TensorView<const half, 4> pool(p.q.data(), {9, 16, 2, 64});
  const cuda::KeyPages<half> pages{pool, pool, {nullptr, {2, 3}}, nullptr, 4};
  const auto paged =
      cuda::make_problem("attention_paged", p.q, pages, p.out, AttentionOptions<Mask>{});
  EXPECT_EQ(why(paged), "keys and values are pages or quantised, which TMA does not copy");
  EXPECT_FALSE(cuda::attention_route(problem<float>(3, 5), 90).tensor_cores);
}

TEST(Sm90, AttentionTakesItWhereItCan) {
  for (const int architecture : {90, 80}) {
    oracle::AttentionOptions o;
    o.causal = true;
    cuda_test::AttentionCase<half> c({1, 20, 140, 2, 1, 64, 64}, o);
    const auto p = c.padded(Mask{}, NoScore{});
    Context<backend::CudaGpu> ctx(emulation::host_device(architecture), nullptr);
    auto options = p.options;
    options.scale = p.scale;
    attention(ctx, p.q, p.kv.k, p.kv.v, p.out, options);
    c.compare();
    const std::string by_name = message_of<ValueError>(
        [&] { cuda::attention_sm90(ctx, p.q, p.kv.k, p.kv.v, p.out, options); });
    if (architecture == 90) {
      EXPECT_EQ(by_name, "");
      c.compare();
    } else {
      EXPECT_EQ(by_name, "attention_sm90: the device is not sm_90; the device is sm_80");
    }
  }
}

TEST(TensorBoxes, DescribeRowsOfViews) {
  auto* data = reinterpret_cast<half*>(4096);
  const TensorView<const half, 4> x(data, {3, 50, 2, 40}, {9000, 96, 48, 1});
  const auto t = cuda::tensor_boxes<half>(x, 80);
  EXPECT_EQ(t.data, data);
  EXPECT_EQ(t.rows, 80u);
  const std::uint64_t extents[] = {40, 50, 2, 3}, strides[] = {192, 96, 18000};
  EXPECT_TRUE(std::equal(extents, extents + 4, t.extents));
  EXPECT_TRUE(std::equal(strides, strides + 3, t.strides));
  EXPECT_TRUE(cuda::can_be_mapped(t));
  const auto with = [&](auto change) {
    auto changed = t;
    change(changed);
    return cuda::can_be_mapped(changed);
  };
  EXPECT_FALSE(with([](auto& y) { y.data = nullptr; }));
  EXPECT_FALSE(with([](auto& y) { y.data = reinterpret_cast<half*>(4104); }));
  EXPECT_FALSE(with([](auto& y) { y.extents[1] = 0; }));
  EXPECT_FALSE(with([](auto& y) { y.strides[0] = 200; }));
  EXPECT_FALSE(with([](auto& y) { y.strides[2] = std::uint64_t{1} << 40; }));
  EXPECT_FALSE(with([](auto& y) { y.strides[1] = 0; }));
  // The stride of a single row may be anything.
  const TensorView<const half, 4> one(data, {1, 50, 1, 40}, {7, 96, 3, 1});
  EXPECT_TRUE(cuda::can_be_mapped(cuda::tensor_boxes<half>(one, 80)));
}

/// Every tile of every head once; in a section of heads the last tiles first.
constexpr bool is_complete(const cuda::TileOrder& order) {
  bool seen[512] = {};
  for (int i = 0; i < order.count(); ++i) {
    const auto t = order.at(i);
    if (t.head < 0 || t.head >= order.heads || t.index < 0 || t.index >= order.tiles) return false;
    if (seen[t.head * order.tiles + t.index]) return false;
    seen[t.head * order.tiles + t.index] = true;
    if (i == 0) continue;
    const auto before = order.at(i - 1);
    const bool same = t.head / order.section == before.head / order.section;
    if (same ? t.index > before.index : t.head < before.head) return false;
  }
  return true;
}
static_assert(is_complete({5, 7, 3}) && is_complete({1, 8, 8}) && is_complete({12, 1, 1}) &&
              is_complete({4, 6, 2}));
static_assert(cuda::tile_order(5, 64, 4, index_t{8} << 20).section == 16);  // 4 times 8 MiB
static_assert(cuda::tile_order(5, 64, 4, index_t{64} << 20).section == 4);
static_assert(cuda::tile_order(5, 6, 1, 1000).section == 6);

/// The element that a descriptor names, by the canonical layouts of the PTX ISA: in groups of 8
/// rows of 128 bytes, `stride` apart, panels of 64 elements `leading` apart, chunks exchanged by
/// address.
constexpr std::uint32_t named(std::uint64_t d, int major, int minor) {
  const auto field = [d](int at) { return static_cast<std::uint32_t>(d >> at & 0x3fff) * 16; };
  const auto u = [](int x) { return static_cast<std::uint32_t>(x); };
  const std::uint32_t at = field(0) + u(minor / 64) * field(16) + u(major / 8) * field(32) +
                           u(major % 8 * 128 + minor % 64 * 2);
  return at ^ (at / 128 % 8 * 16);
}
template <class Tile>
constexpr bool descriptors_name_the_tile() {
  const std::uint32_t base = 3072;
  for (int step = 0; step < Tile::columns / 16; ++step)
    for (int row = 0; row < Tile::rows; ++row)
      for (int chunk = 0; chunk < 2; ++chunk)
        if (named(cuda::row_operand<Tile>(base, step), row, 8 * chunk) !=
            base + Tile::offset(row, 2 * step + chunk))
          return false;
  for (int step = 0; step < Tile::rows / 16; ++step)
    for (int row = 0; row < 16; ++row)
      for (int chunk = 0; chunk < Tile::chunks; ++chunk)
        if (named(cuda::column_operand<Tile>(base, step), row, 8 * chunk) !=
            base + Tile::offset(16 * step + row, chunk))
          return false;
  return true;
}
static_assert(descriptors_name_the_tile<cuda::SharedTile<64, 64>>());
static_assert(descriptors_name_the_tile<cuda::SharedTile<128, 64>>());
static_assert(descriptors_name_the_tile<cuda::SharedTile<80, 256>>());
static_assert(descriptors_name_the_tile<cuda::SharedTile<96, 192>>());

TEST(Sm90, EveryKernelFitsAMultiprocessor) {
  const auto fits = []<int Dk, int Dv>() {
    const auto check = []<class Kernel>(std::type_identity<Kernel>) {
      EXPECT_LE(Kernel::shared_size, 227u * 1024) << Dk << " " << Dv;
      using Plan = typename Kernel::Plan;
      EXPECT_LE(128 * (Plan::producer_registers + Plan::consumers * Plan::consumer_registers),
                65536);
    };
    using Plain = decltype(problem<half>(1, 1));
    using Scored = cuda::AttentionProblem<half, cuda::KeyRows<half>, Mask, SoftCap>;
    check(std::type_identity<cuda::AttentionForwardSm90<Plain, Dk, Dv>>{});
    check(std::type_identity<cuda::AttentionForwardSm90<Scored, Dk, Dv>>{});
  };
  for (const index_t H : {64, 128, 192, 256})
    for (const index_t Hv : {64, 128, 192, 256}) cuda::with_padded_widths(H, Hv, fits);
}

}  // namespace
