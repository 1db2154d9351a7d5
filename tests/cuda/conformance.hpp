// Each primitive of the kernels, tried by itself: a small kernel, and what it must give, from
// tables of the PTX ISA and plain products rather than from the emulated device or the kernels' own
// layouts.
#pragma once

#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/tile_math.hpp>
#include <ashlar/cuda/words.hpp>

namespace conformance {

using ashlar::bfloat16, ashlar::half;
using Word = std::uint32_t;

struct Arguments {
  const Word* in;
  Word* out;
};
inline constexpr int threads = 128;

/// The kernel of a section: S::run<P>(in, out), each thread with `out` at its own results, which
/// lie `threads` words apart.
template <class S>
struct Kernel {
  using Arguments = conformance::Arguments;
  static constexpr int needs_architecture = 80;
  static constexpr int threads = conformance::threads, blocks_per_multiprocessor = 1;
  static constexpr std::size_t shared_size = 64 * 1024;  // more than a launch gets without asking
  static std::size_t shared_bytes(const Arguments&) { return shared_size; }
  static ashlar::cuda::Grid grid(const Arguments&) {
    if constexpr (requires { S::blocks; }) return {S::blocks[0], S::blocks[1], S::blocks[2]};
    return {};
  }
  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    S::template run<P>(a.in, a.out + P::thread());
  }
};

ASHLAR_HD inline Word bits_of(float x) { return __builtin_bit_cast(Word, x); }
ASHLAR_HD inline float float_of(Word x) { return __builtin_bit_cast(float, x); }
ASHLAR_HD inline Word pair_of(const Word* halves, int low, int high) {
  const auto at = [halves](int i) { return halves[i / 2] >> (16 * (i % 2)) & 0xffffu; };
  return at(low) | at(high) << 16;
}
/// Bytes into shared memory.
ASHLAR_HD inline Word bytes(int n) { return static_cast<Word>(n); }

struct Indices {
  static constexpr int results = 4, blocks[3] = {3, 2, 2};
  template <class P>
  static ASHLAR_DEVICE void run(const Word*, Word* out) {
    const int block = P::block_x() + 3 * (P::block_y() + 2 * P::block_z());
    out += block * results * threads;
    const int values[results] = {P::thread(), P::block_x(), P::block_y(), P::block_z()};
    for (int i = 0; i < results; ++i) P::store(out + i * threads, static_cast<Word>(values[i]));
  }
};

/// Global memory to shared to global, in accesses of 4, 8 and 16 bytes, read by another thread.
struct Memory {
  static constexpr int results = 7;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* in, Word* out) {
    using namespace ashlar::cuda;
    const int t = P::thread(), other = t ^ 37;
    const Word base = P::shared_base();
    P::store_shared(base + bytes(4 * t), P::template load<Word>(in + t));
    P::store_shared(base + bytes(4096 + 8 * t), P::template load<Words<2>>(in + 128 + 2 * t));
    P::store_shared(base + bytes(61440 + 16 * t), P::load_once(in + 384 + 4 * t));
    P::sync_block();
    P::store(out, P::template load_shared<Word>(base + bytes(4 * other)));
    const auto two = P::template load_shared<Words<2>>(base + bytes(4096 + 8 * other));
    const auto four = P::template load_shared<Words<4>>(base + bytes(61440 + 16 * other));
    for (int i = 0; i < 2; ++i) P::store(out + (1 + i) * threads, two.word[i]);
    for (int i = 0; i < 4; ++i) P::store(out + (3 + i) * threads, four.word[i]);
  }
};

struct Shuffles {
  static constexpr int results = 5;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* in, Word* out) {
    const Word own = P::template load<Word>(in + P::thread());
    P::store(out, P::shuffle_xor(own, 5));
    P::store(out + threads, bits_of(P::shuffle_xor(static_cast<float>(own & 0xffff), 16)));
    P::store(out + 2 * threads, bits_of(P::shuffle(static_cast<float>(own & 0xffff), 11)));
    P::store(out + 3 * threads, P::ballot((own & 4) != 0));
    P::sync_warp();
    P::store(out + 4 * threads, own);
  }
};

/// f of two floats for every thread.
template <class F>
struct OfFloats {
  static constexpr int results = 1;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* in, Word* out) {
    const float a = float_of(P::template load<Word>(in + 2 * P::thread()));
    const float b = float_of(P::template load<Word>(in + 2 * P::thread() + 1));
    P::store(out, F::template apply<P>(a, b));
  }
};
struct Exp2 {
  template <class P>
  static ASHLAR_DEVICE Word apply(float a, float) {
    return bits_of(P::exp2(a));
  }
};
struct Log2 {
  template <class P>
  static ASHLAR_DEVICE Word apply(float a, float) {
    return bits_of(P::log2(a));
  }
};
struct Reciprocal {
  template <class P>
  static ASHLAR_DEVICE Word apply(float a, float) {
    return bits_of(P::reciprocal(a));
  }
};
struct Maximum {
  template <class P>
  static ASHLAR_DEVICE Word apply(float a, float b) {
    return bits_of(P::maximum(a, b));
  }
};
struct RoundTf32 {
  template <class P>
  static ASHLAR_DEVICE Word apply(float a, float) {
    return P::round_tf32(a);
  }
};
template <class T>
struct Pack {
  template <class P>
  static ASHLAR_DEVICE Word apply(float low, float high) {
    return P::template pack<T>(low, high);
  }
};

/// A pair of T to floats, and to memory.
template <class T>
struct Unpack {
  static constexpr int results = 3;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* in, Word* out) {
    const Word pair = P::template load<Word>(in + P::thread());
    float low, high;
    P::template unpack<T>(pair, low, high);
    P::store(out, bits_of(low));
    P::store(out + threads, bits_of(high));
    P::template store_pair<T>(reinterpret_cast<T*>(out + 2 * threads), pair);
  }
};

/// Copies in two groups, every third one zeros; the first group is read while the second may be
/// under way. Of 16 bytes, and in the second group of 4 too.
struct CopyAsync {
  static constexpr int results = 9;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* in, Word* out) {
    const int t = P::thread();
    const Word own = P::shared_base() + bytes(16 * t);
    P::copy_async(own, in + 4 * t, t % 3 != 0);
    P::commit_copies();
    P::copy_async(own + 2048, in + 512 + 4 * t, t % 3 != 1);
    P::template copy_async<4>(P::shared_base() + bytes(4096 + 4 * t), in + 3 * t, t % 3 != 2);
    P::commit_copies();
    P::template wait_copies<1>();
    P::sync_block();
    const Word other = P::shared_base() + bytes(16 * (t ^ 1));
    for (int i = 0; i < 4; ++i)
      P::store(out + i * threads, P::template load_shared<Word>(other + bytes(4 * i)));
    P::template wait_copies<0>();
    P::sync_block();
    for (int i = 0; i < 4; ++i)
      P::store(out + (4 + i) * threads, P::template load_shared<Word>(other + bytes(2048 + 4 * i)));
    P::store(out + 8 * threads,
             P::template load_shared<Word>(P::shared_base() + bytes(4096 + 4 * (t ^ 1))));
  }
};

/// Four matrices of 8 x 8 elements, which lie apart, for each warp.
template <bool Transposed>
struct LoadMatrix {
  static constexpr int results = 4;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* in, Word* out) {
    const int t = P::thread();
    const Word own = P::shared_base() + bytes(16 * t);  // row t of 8 elements
    P::store_shared(own, P::template load<ashlar::cuda::Quad>(in + 4 * t));
    P::sync_block();
    // The rows of another warp, its matrices in another order, so that a lane's own row is no
    // answer.
    const int warp = t / 32 ^ 1, lane = t % 32;
    const Word row = P::shared_base() + bytes(16 * (warp * 32 + (lane ^ 8)));
    Word r[4];
    if constexpr (Transposed)
      P::load_matrix_transposed(r, row);
    else
      P::load_matrix(r, row);
    for (int i = 0; i < 4; ++i) P::store(out + i * threads, r[i]);
  }
};

/// d = c + a b for a [16][16], b [16][8], c and d [16][8], by the tables of the PTX ISA for
/// mma.m16n8k16 with 16-bit elements: thread i of a group of four, groups 0 .. 7.
template <class T>
struct MultiplyAdd {
  static constexpr int results = 4, a_words = 128, b_words = 64;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* in, Word* out) {
    const int lane = P::thread() % 32, group = lane / 4, i = lane % 4;
    const Word* a = in;
    const Word* b = in + a_words;  // stored [8][16]: column n's elements are neighbours
    const Word* c = b + b_words;
    const Word left[4] = {pair_of(a, group * 16 + 2 * i, group * 16 + 2 * i + 1),
                          pair_of(a, (group + 8) * 16 + 2 * i, (group + 8) * 16 + 2 * i + 1),
                          pair_of(a, group * 16 + 2 * i + 8, group * 16 + 2 * i + 9),
                          pair_of(a, (group + 8) * 16 + 2 * i + 8, (group + 8) * 16 + 2 * i + 9)};
    float d[4] = {float_of(c[group * 8 + 2 * i]), float_of(c[group * 8 + 2 * i + 1]),
                  float_of(c[(group + 8) * 8 + 2 * i]), float_of(c[(group + 8) * 8 + 2 * i + 1])};
    P::template multiply_add<T>(d, left, pair_of(b, group * 16 + 2 * i, group * 16 + 2 * i + 1),
                                pair_of(b, group * 16 + 2 * i + 8, group * 16 + 2 * i + 9));
    for (int e = 0; e < 4; ++e) P::store(out + e * threads, bits_of(d[e]));
  }
};

/// d = c + a b for a [16][8], b [8][8] (stored by columns), c and d [16][8] of floats that tf32
/// holds, by the tables for mma.m16n8k8.
struct MultiplyAddTf32 {
  static constexpr int results = 4;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* a, Word* out) {
    const int lane = P::thread() % 32, group = lane / 4, i = lane % 4;
    const Word *b = a + 128, *c = b + 64;
    const Word left[4] = {a[group * 8 + i], a[(group + 8) * 8 + i], a[group * 8 + i + 4],
                          a[(group + 8) * 8 + i + 4]};
    float d[4] = {float_of(c[group * 8 + 2 * i]), float_of(c[group * 8 + 2 * i + 1]),
                  float_of(c[(group + 8) * 8 + 2 * i]), float_of(c[(group + 8) * 8 + 2 * i + 1])};
    P::multiply_add_tf32(d, left, b[group * 8 + i], b[group * 8 + i + 4]);
    for (int e = 0; e < 4; ++e) P::store(out + e * threads, bits_of(d[e]));
  }
};

/// 50 rows of 104 elements into a swizzled tile of 64 x 128, every element read back.
struct Tile {
  static constexpr int results = 32, rows = 50, width = 104;
  template <class P>
  static ASHLAR_DEVICE void run(const Word* in, Word* out) {
    using T = ashlar::cuda::SharedTile<64, 128>;
    const int t = P::thread();
    const auto* from = reinterpret_cast<const bfloat16*>(in);
    ashlar::cuda::copy_tile<P, T, threads>(P::shared_base(), t, rows, width,
                                           [from](int row) { return from + row * width; });
    P::commit_copies();
    P::template wait_copies<0>();
    P::sync_block();
    for (int i = 0; i < results; ++i) {
      const int pair = i * threads + t, row = pair / 64, column = pair % 64 * 2;
      P::store(out + i * threads,
               P::template load_shared<Word>(P::shared_base() + T::offset(row, column / 8) +
                                             bytes(column % 8 * 2)));
    }
  }
};

}  // namespace conformance
