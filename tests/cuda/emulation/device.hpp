// The primitives of the kernels on an emulated block, with the members of ashlar::cuda::Ptx.
#pragma once

#include <ashlar/cuda/words.hpp>
#include <cmath>

#include "block.hpp"

namespace emulation {

struct Device {
  static int thread() { return block().thread(); }
  static int block_x() { return block().index.x; }
  static int block_y() { return block().index.y; }
  static int block_z() { return block().index.z; }

  // --- shared memory ---------------------------------------------------------------------------
  static std::uint32_t shared_base() { return 0; }
  template <class V>
  static V load_shared(std::uint32_t address) {
    Block& b = block();
    b.check(b.shared.check_read(address, sizeof(V), b.accessor()), "ld.shared");
    V value;
    std::memcpy(&value, b.shared.at(address), sizeof(V));
    return value;
  }
  template <class V>
  static void store_shared(std::uint32_t address, V value) {
    Block& b = block();
    b.check(b.shared.check_write(address, sizeof(V), b.accessor()), "st.shared");
    std::memcpy(b.shared.at(address), &value, sizeof(V));
  }
  // --- global memory ---------------------------------------------------------------------------
  template <class V>
  static V load(const void* from) {
    if (reinterpret_cast<std::uintptr_t>(from) % alignof(V) != 0)
      block().fail("ld.global: misaligned");
    V value;
    std::memcpy(&value, from, sizeof(V));
    return value;
  }
  template <class V>
  static void store(void* to, V value) {
    if (reinterpret_cast<std::uintptr_t>(to) % alignof(V) != 0)
      block().fail("st.global: misaligned");
    std::memcpy(to, &value, sizeof(V));
  }
  static ashlar::cuda::Words<4> load_once(const void* from) {
    return load<ashlar::cuda::Words<4>>(from);
  }

  static void sync_warp() { block().sync_warp(); }
  static void sync_block() { block().sync_block(); }

  // --- between lanes ---------------------------------------------------------------------------
  static float shuffle_xor(float value, int mask) {
    return exchange("shfl.bfly", value, [mask](int lane) { return lane ^ mask; });
  }
  static std::uint32_t shuffle_xor(std::uint32_t value, int mask) {
    return exchange("shfl.bfly", value, [mask](int lane) { return lane ^ mask; });
  }
  static float shuffle(float value, int from) {
    return exchange("shfl.idx", value, [from](int) { return from & 31; });
  }
  static std::uint32_t ballot(bool vote) {
    struct Argument {
      bool vote;
      std::uint32_t result;
    } argument{vote, 0};
    block().collective("vote.ballot", &argument, [](Warp& w) {
      std::uint32_t all = 0;
      for (int i = 0; i < 32; ++i)
        all |= std::uint32_t{static_cast<Argument*>(w.arguments[i])->vote} << i;
      for (void* a : w.arguments) static_cast<Argument*>(a)->result = all;
    });
    return argument.result;
  }

  // --- arithmetic ------------------------------------------------------------------------------
  static float exp2(float x) { return flush(std::exp2(flush(x))); }
  static float log2(float x) { return std::log2(flush(x)); }
  static float reciprocal(float x) { return flush(1.f / flush(x)); }
  static float maximum(float a, float b) { return std::fmax(a, b); }
  template <class T>
  static std::uint32_t pack(float low, float high) {
    return T(low).bits | std::uint32_t{T(high).bits} << 16;
  }
  template <class T>
  static void unpack(std::uint32_t pair, float& low, float& high) {
    low = T::from_bits(static_cast<std::uint16_t>(pair));
    high = T::from_bits(static_cast<std::uint16_t>(pair >> 16));
  }
  template <class T>
  static void store_pair(T* to, std::uint32_t pair) {
    if (reinterpret_cast<std::uintptr_t>(to) % 4 != 0) block().fail("st.global: misaligned");
    std::memcpy(static_cast<void*>(to), &pair, 4);
  }

  // --- asynchronous copies ---------------------------------------------------------------------
  template <int Bytes = 16>
  static void copy_async(std::uint32_t to, const void* from, bool inside) {
    Block& b = block();
    ++b.counters.copies;
    if (inside && reinterpret_cast<std::uintptr_t>(from) % Bytes != 0)
      b.fail("cp.async: misaligned global address");
    b.check(b.shared.check_write(to, Bytes, b.accessor(), true), "cp.async");
    const PendingCopy copy{to, inside ? from : nullptr, Bytes};
    if (b.schedule.copies == Copies::eager) perform(copy);
    b.self().open.push_back(copy);
  }
  static void commit_copies() {
    Thread& t = block().self();
    t.groups.push_back(std::move(t.open));
    t.open.clear();
  }
  template <int Pending>
  static void wait_copies() {
    auto& groups = block().self().groups;
    while (groups.size() > Pending) {
      for (const PendingCopy& copy : groups.front()) {
        if (block().schedule.copies == Copies::lazy) perform(copy);
        block().shared.land(copy.to, copy.bytes, block().accessor());
      }
      groups.erase(groups.begin());
    }
  }

  // --- matrix fragments ------------------------------------------------------------------------
  static void load_matrix(std::uint32_t (&r)[4], std::uint32_t address) {
    load_matrices("ldmatrix", r, address, false);
  }
  static void load_matrix_transposed(std::uint32_t (&r)[4], std::uint32_t address) {
    load_matrices("ldmatrix.trans", r, address, true);
  }
  /// Written from the tables of the PTX ISA, not from fragment.hpp.
  template <class T>
  static void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                           std::uint32_t b1) {
    struct Argument {
      float* d;
      const std::uint32_t* a;
      std::uint32_t b[2];
    } argument{d, a, {b0, b1}};
    block().collective("mma.sync", &argument, [](Warp& w) {
      ++block().counters.products;
      float left[16][16], right[16][8], sum[16][8];
      const auto part = [](std::uint32_t pair, int e) {
        return static_cast<float>(T::from_bits(static_cast<std::uint16_t>(pair >> (16 * e))));
      };
      for (int lane = 0; lane < 32; ++lane) {
        const auto& x = *static_cast<Argument*>(w.arguments[lane]);
        const int group = lane >> 2, in_group = lane & 3;
        for (int i = 0; i < 8; ++i)
          left[group + (i & 2 ? 8 : 0)][in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)] =
              part(x.a[i / 2], i & 1);
        for (int i = 0; i < 4; ++i)
          right[in_group * 2 + (i & 1) + (i < 2 ? 0 : 8)][group] = part(x.b[i / 2], i & 1);
        for (int i = 0; i < 4; ++i) sum[group + (i < 2 ? 0 : 8)][in_group * 2 + (i & 1)] = x.d[i];
      }
      for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 16; ++k)
          for (int n = 0; n < 8; ++n) sum[i][n] += left[i][k] * right[k][n];
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 4; ++i)
          static_cast<Argument*>(w.arguments[lane])->d[i] =
              sum[(lane >> 2) + (i < 2 ? 0 : 8)][(lane & 3) * 2 + (i & 1)];
    });
  }

  static std::uint32_t round_tf32(float x) {
    const auto bits = __builtin_bit_cast(std::uint32_t, x);
    if ((bits & 0x7f800000u) == 0x7f800000u) return x != x ? 0x7fffffffu : bits;
    return (bits + 0x1000u) & ~0x1fffu;
  }
  /// The fragments of m16n8k8: a and b hold element (lane / 4, lane % 4), then 8 rows below (a),
  /// then 4 columns on.
  static void multiply_add_tf32(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
    struct Argument {
      float* d;
      const std::uint32_t* a;
      std::uint32_t b[2];
    } argument{d, a, {b0, b1}};
    block().collective("mma.sync", &argument, [](Warp& w) {
      ++block().counters.products;
      float left[16][8], right[8][8], sum[16][8];
      // The hardware does not look at the low 13 bits.
      const auto number = [](std::uint32_t bits) {
        return __builtin_bit_cast(float, bits & ~0x1fffu);
      };
      for (int lane = 0; lane < 32; ++lane) {
        const auto& x = *static_cast<Argument*>(w.arguments[lane]);
        const int group = lane >> 2, in_group = lane & 3;
        for (int i = 0; i < 4; ++i) left[group + i % 2 * 8][in_group + i / 2 * 4] = number(x.a[i]);
        for (int i = 0; i < 2; ++i) right[in_group + 4 * i][group] = number(x.b[i]);
        for (int i = 0; i < 4; ++i) sum[group + (i < 2 ? 0 : 8)][in_group * 2 + (i & 1)] = x.d[i];
      }
      for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 8; ++k)
          for (int n = 0; n < 8; ++n) sum[i][n] += left[i][k] * right[k][n];
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 4; ++i)
          static_cast<Argument*>(w.arguments[lane])->d[i] =
              sum[(lane >> 2) + (i < 2 ? 0 : 8)][(lane & 3) * 2 + (i & 1)];
    });
  }

 protected:
  static Block& block() { return Block::current(); }
  /// Denormal numbers are 0 in the approximate functions.
  static float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }

  template <class V, class From>
  static V exchange(const char* name, V value, From from) {
    struct Argument {
      V value, result;
      int source;
    } argument{value, 0, from(block().lane())};
    block().collective(name, &argument, [](Warp& w) {
      for (void* a : w.arguments) {
        auto& x = *static_cast<Argument*>(a);
        x.result = static_cast<Argument*>(w.arguments[x.source])->value;
      }
    });
    return argument.result;
  }
  static void perform(const PendingCopy& copy) {
    unsigned char* to = block().shared.at(copy.to);
    if (copy.from)
      std::memcpy(to, copy.from, copy.bytes);
    else
      std::memset(to, 0, copy.bytes);
  }
  static void load_matrices(const char* name, std::uint32_t (&r)[4], std::uint32_t address,
                            bool transposed) {
    struct Argument {
      std::uint32_t* r;
      std::uint32_t address;
    } argument{r, address};
    block().collective(name, &argument, [name, transposed](Warp& w) {
      Block& b = block();
      ++b.counters.matrix_loads;
      for (int matrix = 0; matrix < 4; ++matrix) {
        std::uint16_t x[8][8];
        int rows_in_banks[8] = {}, most = 0;
        for (int row = 0; row < 8; ++row) {
          const int lane = 8 * matrix + row;
          const std::uint32_t from = static_cast<Argument*>(w.arguments[lane])->address;
          b.check(b.shared.check_read(from, 16, b.accessor(lane)), name);
          std::memcpy(x[row], b.shared.at(from), 16);
          int& n = rows_in_banks[from / 16 % 8];
          most = ++n > most ? n : most;
        }
        b.counters.wavefronts += static_cast<std::uint64_t>(most);
        for (int lane = 0; lane < 32; ++lane) {
          const int i = lane / 4, j = lane % 4 * 2;
          const std::uint32_t low = transposed ? x[j][i] : x[i][j];
          const std::uint32_t high = transposed ? x[j + 1][i] : x[i][j + 1];
          static_cast<Argument*>(w.arguments[lane])->r[matrix] = low | high << 16;
        }
      }
    });
  }
};

}  // namespace emulation
