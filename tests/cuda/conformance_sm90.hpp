// The primitives of sm_90a, each tried by itself as in conformance.hpp.
#pragma once

#include <ashlar/cuda/matrix_descriptor.hpp>
#include <ashlar/cuda/tensor_map.hpp>

#include "conformance.hpp"

namespace conformance {

/// What a tensor map is made of, in boxes of 64 columns and 64 rows.
struct MappedArguments {
  ashlar::TensorView<const bfloat16, 4> x;
  const Word* in;
  Word* out;
};

/// The kernel of a section: S::run<P>(map, in, out).
template <class S>
struct KernelSm90 {
  using Arguments = MappedArguments;
  struct Mapped {
    ashlar::cuda::TensorMap map;
    const Word* in;
    Word* out;
  };
  static constexpr int needs_architecture = 90, threads = S::threads;
  static std::size_t shared_bytes(const Arguments&) { return 128 * 1024; }
  static ashlar::cuda::Grid grid(const Arguments&) { return {S::blocks}; }
  template <class Encode>
  static Mapped mapped(const Arguments& a, Encode encode) {
    return {encode(ashlar::cuda::tensor_boxes<bfloat16>(a.x, 64)), a.in, a.out};
  }
  template <class P>
  static ASHLAR_DEVICE void run(const Mapped& a) {
    S::template run<P>(a.map, a.in, a.out + P::thread());
  }
};

struct Election {
  static constexpr int threads = 128, results = 3, blocks = 3;
  template <class P>
  static ASHLAR_DEVICE void run(const ashlar::cuda::TensorMap&, const Word*, Word* out) {
    out += P::block_x() * results * threads;
    P::store(out, P::ballot(P::elect()));
    P::store(out + threads, static_cast<Word>(P::uniform(P::thread() * 3)));
    P::store(out + 2 * threads, static_cast<Word>(P::blocks()));
  }
};

/// A warpgroup writes and arrives, another one waits and reads; then the other way.
struct NamedBarriers {
  static constexpr int threads = 256, results = 1, blocks = 1;
  template <class P>
  static ASHLAR_DEVICE void run(const ashlar::cuda::TensorMap&, const Word* in, Word* out) {
    const int t = P::thread(), warpgroup = P::uniform(t / 128);
    const Word own = P::shared_base() + bytes(4 * t);
    const Word other = P::shared_base() + bytes(4 * (t ^ 128 ^ 35));
    const Word value = P::template load<Word>(in + t);
    if (warpgroup == 0) {
      P::store_shared(own, value);
      P::arrive_threads(1, threads);
      P::sync_threads(2, threads);
      P::store(out, P::template load_shared<Word>(other));
    } else {
      P::sync_threads(1, threads);
      P::store(out, P::template load_shared<Word>(other));
      P::store_shared(own, value);
      P::arrive_threads(2, threads);
    }
  }
};

/// Two phases of a barrier in shared memory: all threads write, arrive, wait and read.
struct SharedBarriers {
  static constexpr int threads = 128, results = 2, blocks = 1;
  template <class P>
  static ASHLAR_DEVICE void run(const ashlar::cuda::TensorMap&, const Word* in, Word* out) {
    const int t = P::thread();
    const Word barrier = P::shared_base(), data = barrier + 1024;
    if (t == 0) {
      P::init_barrier(barrier, threads);
      P::publish_barriers();
    }
    P::sync_block();
    for (int phase = 0; phase < 2; ++phase) {
      P::store_shared(data + bytes(512 * phase + 4 * t),
                      P::template load<Word>(in + t + 128 * phase));
      P::arrive(barrier);
      P::wait_barrier(barrier, static_cast<Word>(phase));
      P::store(out + phase * threads,
               P::template load_shared<Word>(data + bytes(512 * phase + 4 * (t ^ 77))));
    }
  }
};

/// Two boxes by one thread, from inside of the tensor and past its end in rows and columns; every
/// word of the swizzled panels.
struct CopyBox {
  static constexpr int threads = 128, results = 32, blocks = 1;
  static constexpr int columns[2] = {0, 64}, rows[2] = {5, 8}, heads[2] = {2, 1}, b[2] = {0, 1};
  template <class P>
  static ASHLAR_DEVICE void run(const ashlar::cuda::TensorMap& map, const Word*, Word* out) {
    const int t = P::thread();
    const Word barrier = P::shared_base(), panel = barrier + 1024;
    if (t == 0) {
      P::init_barrier(barrier, 1);
      P::publish_barriers();
    }
    P::sync_block();
    if (t == 0) {
      P::prefetch_map(map);
      P::arrive_expecting(barrier, 2 * 8192);
      P::copy_box(panel, map, barrier, 0, 5, 2, 0);
      P::copy_box(panel + 8192, map, barrier, 64, 8, 1, 1);
    }
    P::wait_barrier(barrier, 0);
    for (int i = 0; i < results; ++i)
      P::store(out + i * threads,
               P::template load_shared<Word>(panel + bytes(4 * (i * threads + t))));
  }
};

/// Places a matrix [rows][columns] of 16-bit elements, columns a multiple of 64, as panels of rows
/// of 128 bytes whose chunks of 16 bytes are swapped by the row: the layout that products take.
template <class P>
ASHLAR_DEVICE void place(Word to, const Word* from, int rows, int columns) {
  for (int i = P::thread(); i < rows * columns / 2; i += 128) {
    const int row = i / (columns / 2), column = i % (columns / 2) * 2;
    const int panel = column / 64, chunk = column % 64 / 8;
    P::store_shared(
        to + bytes(panel * rows * 128 + row * 128 + ((chunk ^ (row & 7)) << 4) + column % 8 * 2),
        P::template load<Word>(from + i));
  }
}
template <class P, int Blocks>
ASHLAR_DEVICE void store_sums(Word* out, const float (&d)[Blocks][4]) {
  for (int j = 0; j < Blocks; ++j)
    for (int i = 0; i < 4; ++i) P::store(out + (4 * j + i) * 128, bits_of(d[j][i]));
}

/// d = a b^T for a [64][128] and b [8 Blocks][128] in shared memory, in eight steps of 16.
template <class T, int Blocks>
struct MultiplyTiles {
  static constexpr int threads = 128, results = 4 * Blocks, blocks = 1, K = 128, N = 8 * Blocks;
  template <class P>
  static ASHLAR_DEVICE void run(const ashlar::cuda::TensorMap&, const Word* in, Word* out) {
    using namespace ashlar::cuda;
    const Word a = P::shared_base(), b = a + 64 * K * 2;
    place<P>(a, in, 64, K);
    place<P>(b, in + 64 * K / 2, N, K);
    P::publish_writes();
    P::sync_block();
    float d[Blocks][4];
    for (int j = 0; j < Blocks; ++j) d[j][0] = d[j][1] = d[j][2] = d[j][3] = 7.f;  // not added
    P::begin_products();
    ASHLAR_DEVICE_UNROLL
    for (int step = 0; step < K / 16; ++step)
      P::template multiply_tiles<T>(d, row_operand<SharedTile<64, K>>(a, step),
                                    row_operand<SharedTile<N, K>>(b, step), step > 0);
    P::commit_products();
    P::template wait_products<0>();
    P::hold(d);
    store_sums<P>(out, d);
  }
};

/// d = c + a b for a [64][32] in registers, b [32][8 Blocks] in shared memory, in two steps.
template <class T, int Blocks>
struct MultiplyFragment {
  static constexpr int threads = 128, results = 4 * Blocks, blocks = 1, K = 32, N = 8 * Blocks;
  template <class P>
  static ASHLAR_DEVICE void run(const ashlar::cuda::TensorMap&, const Word* in, Word* out) {
    using namespace ashlar::cuda;
    const Word b = P::shared_base();
    place<P>(b, in + 64 * K / 2, K, N);
    P::publish_writes();
    P::sync_block();
    // As the first operand of mma.m16n8k16, 16 rows a warp.
    const int lane = P::thread() % 32, row = P::thread() / 32 * 16 + lane / 4, i = lane % 4 * 2;
    Word a[2][4];
    for (int step = 0; step < 2; ++step)
      for (int r = 0; r < 4; ++r) {
        const int at = (row + r % 2 * 8) * K + 16 * step + i + r / 2 * 8;
        a[step][r] = pair_of(in, at, at + 1);
      }
    float d[Blocks][4];
    for (int j = 0; j < Blocks; ++j)
      for (int e = 0; e < 4; ++e) d[j][e] = static_cast<float>(j - e);
    P::begin_products();
    ASHLAR_DEVICE_UNROLL
    for (int step = 0; step < 2; ++step)
      P::template multiply_fragment<T>(d, a[step], column_operand<SharedTile<K, N>>(b, step));
    P::commit_products();
    P::template wait_products<0>();
    P::hold(d);
    store_sums<P>(out, d);
  }
};

}  // namespace conformance
