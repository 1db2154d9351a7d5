// The primitives of sm_90a on an emulated block, with the members of ashlar::cuda::PtxSm90.
#pragma once

#include <algorithm>
#include <map>

#include "device.hpp"
#include "warpgroup.hpp"

namespace emulation {

/// What a tensor map of the emulated device holds: elements of 16 bits, boxes of 64 x rows.
struct MappedTensor {
  const void* data;
  std::uint64_t extents[4], strides[3];
  std::uint32_t rows;

  /// The kernels' opaque type.
  template <class Map>
  operator Map() const {
    static_assert(sizeof(MappedTensor) <= sizeof(Map) && alignof(Map) >= 64);
    Map map;
    std::memcpy(static_cast<void*>(&map), this, sizeof *this);
    return map;
  }
};
/// What the driver does; of ashlar::cuda::TensorBoxes.
inline constexpr auto encode_map = [](const auto& boxes) {
  if (!can_be_mapped(boxes) || boxes.rows == 0 || boxes.rows > 256)
    throw Fault("a tensor that no map describes");
  MappedTensor x{boxes.data, {}, {}, boxes.rows};
  std::copy_n(boxes.extents, 4, x.extents);
  std::copy_n(boxes.strides, 3, x.strides);
  return x;
};

/// A barrier in shared memory.
struct SharedBarrier {
  int arrivals, pending;   // of a phase, and still to come
  std::int64_t bytes = 0;  // announced and not there
  std::uint32_t parity = 0;
  int engine;  // its copies' place in clocks
  std::uint32_t events = 0;
  Clock arriving{}, completed{};  // what those know who arrive, and what waiting for them tells

  void settle() {
    if (pending > 0 || bytes != 0) return;
    pending = arrivals;
    parity ^= 1u;
    join(completed, arriving);
  }
};

struct StateSm90 : Extension {
  std::map<std::uint32_t, SharedBarrier> barriers;
  std::array<WarpProducts, most_warps> products;
  std::array<std::vector<std::uint64_t>, most_warps / 4> issued;  // what each warpgroup did
  std::array<int, most_warps> registers{};
  int free_registers = 0;

  std::string left_by_warp(int w) const override {
    const WarpProducts& p = products[static_cast<std::size_t>(w)];
    bool done = p.open.empty();
    for (const auto& group : p.groups) done = done && group.empty();
    return done ? "" : "a warp ends with products under way";
  }
};

struct DeviceSm90 : Device {
  static constexpr bool available = true;

  static int blocks() { return block().grid.x; }
  static int uniform(int value) {
    return exchange("shfl.idx", value, [](int) { return 0; });
  }
  static bool elect() {
    bool chosen = false;
    block().collective("elect.sync", &chosen,
                       [](Warp& w) { *static_cast<bool*>(w.arguments[0]) = true; });
    return chosen;
  }

  static void sync_threads(int barrier, int threads) {
    block().barrier("bar.sync", barrier, threads, true);
  }
  static void arrive_threads(int barrier, int threads) {
    block().barrier("bar.arrive", barrier, threads, false);
  }

  // --- barriers in shared memory -----------------------------------------------------------------
  static void init_barrier(std::uint32_t barrier, int arrivals) {
    Block& b = block();
    b.check(b.shared.check_write(barrier, 8, b.accessor()), "mbarrier.init");
    auto& all = state().barriers;
    if (all.count(barrier)) b.fail("mbarrier.init: a barrier that is in use");
    if (all.size() == most_engines) b.fail("mbarrier.init: more barriers than are emulated");
    all[barrier] = {arrivals, arrivals, 0, 0, static_cast<int>(all.size()), 0, {}, {}};
  }
  static void publish_barriers() {}
  static void arrive(std::uint32_t barrier) { arrive_expecting(barrier, 0, "mbarrier.arrive"); }
  static void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes,
                               const char* name = "mbarrier.arrive.expect_tx") {
    SharedBarrier& x = at(barrier, name);
    if (x.pending == 0) block().fail(std::string(name) + ": more arrivals than the phase has");
    join(x.arriving, block().warp().clock);
    ++block().warp().clock[static_cast<std::size_t>(block().thread() / 32)];
    x.bytes += bytes;
    --x.pending;
    x.settle();
  }
  static void wait_barrier(std::uint32_t barrier, std::uint32_t parity) {
    SharedBarrier& x = at(barrier, "mbarrier.try_wait");
    block().wait_until("mbarrier.try_wait", [&x, parity] { return x.parity != (parity & 1u); });
    join(block().warp().clock, x.completed);
  }

  // --- copies of boxes
  // -----------------------------------------------------------------------------
  template <class Map>
  static void copy_box(std::uint32_t to, const Map& map, std::uint32_t barrier, int column, int row,
                       int head, int b) {
    Block& here = block();
    ++here.counters.copies;
    MappedTensor boxes;
    std::memcpy(static_cast<void*>(&boxes), &map, sizeof boxes);
    if (to % 1024 != 0) here.fail("cp.async.bulk.tensor: misaligned shared address");
    SharedBarrier& x = at(barrier, "cp.async.bulk.tensor");
    const std::uint32_t bytes = boxes.rows * 128;
    here.check(here.shared.check_engine_write(to, bytes, here.accessor(), x.engine, ++x.events),
               "cp.async.bulk.tensor");
    const std::int64_t place[4] = {column, row, head, b};
    here.give_to_engine(
        [&here, &x, boxes, to, bytes, event = x.events, place = std::to_array(place)] {
          for (std::uint32_t r = 0; r < boxes.rows; ++r)
            for (std::uint32_t c = 0; c < 64; ++c) {
              const std::int64_t i[4] = {place[0] + c, place[1] + r, place[2], place[3]};
              bool inside = true;
              std::int64_t offset = i[0] * 2;
              for (std::size_t j = 0; j < 4; ++j) {
                inside = inside && i[j] >= 0 && i[j] < static_cast<std::int64_t>(boxes.extents[j]);
                if (j > 0) offset += i[j] * static_cast<std::int64_t>(boxes.strides[j - 1]);
              }
              std::uint16_t value = 0;
              if (inside) std::memcpy(&value, static_cast<const char*>(boxes.data) + offset, 2);
              const std::uint32_t at = to + r * 128 + c * 2;
              std::memcpy(here.shared.at(at ^ (at >> 3 & 0x70u)), &value, 2);
            }
          here.shared.land(to, bytes);
          auto& known = x.arriving[static_cast<std::size_t>(most_warps + x.engine)];
          known = event > known ? event : known;
          x.bytes -= bytes;
          x.settle();
        });
  }
  template <class Map>
  static void prefetch_map(const Map&) {}
  static void publish_writes() { block().shared.publish(block().thread() / 32, block().lane()); }

  // --- registers of a warpgroup
  // ----------------------------------------------------------------------
  template <int Registers>
  static void give_registers() {
    set_registers<Registers>("setmaxnreg.dec", true);
  }
  template <int Registers>
  static void take_registers() {
    set_registers<Registers>("setmaxnreg.inc", false);
  }

  // --- products of a warpgroup
  // -------------------------------------------------------------------------
  static void begin_products() {
    block().collective("wgmma.fence", nullptr, [](Warp&) { products().fenced = true; });
  }
  static void commit_products() {
    block().collective("wgmma.commit_group", nullptr, [](Warp&) {
      WarpProducts& p = products();
      p.groups.push_back(std::move(p.open));
      p.open.clear();
      p.fenced = false;
    });
  }
  template <int Pending>
  static void wait_products() {
    block().collective("wgmma.wait_group", nullptr, [](Warp& w) {
      auto& groups = products().groups;
      for (; groups.size() > Pending; groups.erase(groups.begin()))
        if (block().schedule.copies == Copies::lazy)
          for (const Product& p : groups.front()) multiply(block(), p);
      ++w.epoch;
    });
  }
  template <int Blocks>
  static void hold(float (&)[Blocks][4]) {}
  template <class T, int Blocks>
  static void multiply_tiles(float (&d)[Blocks][4], std::uint64_t a, std::uint64_t b, bool add) {
    issue<T>(&d[0][0], 8 * Blocks, nullptr, a, b, false, add);
  }
  template <class T, int Blocks>
  static void multiply_fragment(float (&d)[Blocks][4], const std::uint32_t (&a)[4],
                                std::uint64_t b) {
    issue<T>(&d[0][0], 8 * Blocks, a, 0, b, true, true);
  }

 private:
  static StateSm90& state() {
    Block& b = block();
    if (!b.extension) b.extension = std::make_shared<StateSm90>();
    return static_cast<StateSm90&>(*b.extension);
  }
  static WarpProducts& products() {
    return state().products[static_cast<std::size_t>(block().thread() / 32)];
  }
  static SharedBarrier& at(std::uint32_t barrier, const char* name) {
    Block& b = block();
    b.check(b.shared.check_read(barrier, 8, b.accessor()), name);
    const auto found = state().barriers.find(barrier);
    if (found == state().barriers.end()) b.fail(std::string(name) + ": no barrier is there");
    return found->second;
  }

  /// Of 64 Ki registers a block begins with an equal share for every warp, a multiple of 8.
  template <int Registers>
  static void set_registers(const char* name, bool fewer) {
    static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256);
    StateSm90& s = state();
    const int warps = block().warps();
    const int share = 65536 / (32 * warps) / 8 * 8;
    int& mine = s.registers[static_cast<std::size_t>(block().thread() / 32)];
    bool changes = false;
    block().collective(name, nullptr, [&](Warp&) { changes = true; });
    if (!changes) return;
    if (mine == 0) mine = share;
    if (fewer ? Registers > mine : Registers < mine)
      block().fail(std::string(name) + ": from " + std::to_string(mine) + " registers");
    block().wait_until(name, [&s, &mine] { return s.free_registers >= 32 * (Registers - mine); });
    s.free_registers -= 32 * (Registers - mine);
    mine = Registers;
  }

  template <class T>
  static void issue(float* d, int n, const std::uint32_t* a, std::uint64_t a_tile,
                    std::uint64_t b_tile, bool b_by_rows, bool add) {
    struct Argument {
      float* d;
      const std::uint32_t* a;
      std::uint64_t a_tile, b_tile;
      bool add;
    } argument{d, a, a_tile, b_tile, add};
    block().collective(a ? "wgmma, a in registers" : "wgmma", &argument, [=](Warp& w) {
      Block& b = block();
      ++b.counters.warpgroup_products;
      Product p{{}, {}, a_tile, b_tile, n, b_by_rows, add, &element<T>, {}};
      for (int lane = 0; lane < 32; ++lane) {
        const auto& x = *static_cast<Argument*>(w.arguments[lane]);
        if (x.a_tile != a_tile || x.b_tile != b_tile || x.add != add)
          b.fail("wgmma: lanes disagree");
        p.d[lane] = x.d;
        p.a[lane] = x.a;
      }
      WarpProducts& mine = products();
      if (!mine.fenced) b.fail("wgmma: no wgmma.fence before it");
      auto& done = state().issued[static_cast<std::size_t>(b.thread() / 128)];
      const std::uint64_t what = b_tile * 31 + a_tile * 17 + static_cast<std::uint64_t>(n);
      if (mine.issued == done.size()) done.push_back(what);
      if (done[mine.issued++] != what)
        b.fail("wgmma: the warps of a warpgroup issue different products");
      check_operands(b, p);
      if (b.schedule.copies == Copies::eager) {
        multiply(b, p);
        p.before.clear();
      } else if (!is_under_way(mine, p.d[0])) {  // nobody may look at the sums until they are there
        for (float* sums : p.d)
          for (int i = 0; i < n / 2; ++i) {
            p.before.push_back(sums[i]);
            sums[i] = NAN;
          }
      }
      mine.open.push_back(std::move(p));
    });
  }
  static bool is_under_way(const WarpProducts& mine, const float* d) {
    bool found = false;
    for (const Product& p : mine.open) found = found || p.d[0] == d;
    for (const auto& group : mine.groups)
      for (const Product& p : group) found = found || p.d[0] == d;
    return found;
  }
  template <class T>
  static float element(std::uint16_t bits) {
    return static_cast<float>(T::from_bits(bits));
  }
};

}  // namespace emulation
