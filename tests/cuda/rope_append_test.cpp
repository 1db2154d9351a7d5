// Rotation and append on the emulated device, against the oracle, read back as attention reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <ashlar/cuda/rope_append.hpp>
#include <numeric>

#include "oracle/rope.hpp"
#include "row_case.hpp"

namespace {

using namespace ashlar;
using cuda_test::half_ulp, cuda_test::Vec;
using oracle::to_size;

struct RopeShape {
  index_t B, T, N, K, H, Hv, r;
};

/// New tokens of sequences that have `before` tokens each, and a cache for them.
template <class T, class E>
struct AppendCase {
  using Tensor = support::PoisonedTensor<T, 4>;
  using Cache = support::PoisonedTensor<E, 4>;

  AppendCase(RopeShape shape, RopePairing pairing_, index_t gap)
      : s(shape),
        pairing(pairing_),
        q({s.B, s.T, s.N, s.H}, gap),
        k({s.B, s.T, s.K, s.H}, gap),
        v({s.B, s.T, s.K, s.Hv}, gap),
        table(to_size(s.B * s.T * s.r)) {
    for (index_t b = 0; b < s.B; ++b) before.push_back((b * 13 + 5) % 23);
    q_values = fill(q, s.N * s.H);
    k_values = fill(k, s.K * s.H);
    v_values = fill(v, s.K * s.Hv);
    std::vector<index_t> at;
    for (index_t b = 0; b < s.B; ++b)
      for (index_t t = 0; t < s.T; ++t) at.push_back(before[to_size(b)] + t);
    rope_table(rope_frequencies(1e4, s.r), VectorView<const index_t>(at.data(), {s.B * s.T}),
               TensorView<float, 3>(table.data(), {s.B * s.T, 2, s.r / 2}));
    positions.assign(at.begin(), at.end());
  }

  template <class Source>
  auto arguments(Source source) {
    using Arguments = cuda::RopeAppendArguments<T, Source>;
    Arguments a{view(q), view(k), view(v), {}, source};
    a.table = TensorView<const float, 3>(table.data(), {s.B * s.T, 2, s.r / 2});
    a.lengths = before.data();
    a.most_tokens = s.T;
    return a;
  }
  template <class Source>
  void run(const cuda::RopeAppendArguments<T, Source>& a, std::uint64_t seed = 1) {
    if (pairing == RopePairing::half_split)
      emulation::launch<cuda::RopeAppend<T, Source, RopePairing::half_split>>(a, {{}, seed});
    else
      emulation::launch<cuda::RopeAppend<T, Source, RopePairing::interleaved>>(a, {{}, seed});
  }

  Vec turned(const std::vector<T>& x, index_t heads) const {
    return oracle::rope(cuda_test::doubles(x), positions, heads, s.H,
                        oracle::rope_table(1e4, s.r, s.H), pairing == RopePairing::interleaved);
  }
  /// q and k are turned in place, and the cache holds the turned keys and the values.
  template <class Source>
  void expect_done(const Source& source) {
    EXPECT_TRUE(q.gaps_intact() && k.gaps_intact() && v.gaps_intact());
    const double error = 1.1 * half_ulp<T>;
    const auto q_now = q.template values<std::vector<T>>();
    const auto k_now = k.template values<std::vector<T>>();
    const Vec q_expected = turned(q_values, s.N), k_expected = turned(k_values, s.K);
    // Of a difference of two products, the error is relative to their size: at most 6 each.
    EXPECT_TRUE(support::all_within(q_now, q_expected, cuda_test::budget(q_expected, error, 2e-6)));
    EXPECT_TRUE(support::all_within(k_now, k_expected, cuda_test::budget(k_expected, error, 2e-6)));
    std::vector<E> keys, keys_expected, values, values_expected;
    for (index_t b = 0; b < s.B; ++b)
      for (index_t t = 0; t < s.T; ++t)
        for (index_t h = 0; h < s.K; ++h) {
          const index_t slot = before[to_size(b)] + t, from = ((b * s.T + t) * s.K + h);
          for (index_t i = 0; i < s.H; ++i) {
            keys.push_back(source.key(b, h, slot)[i]);
            keys_expected.push_back(
                static_cast<E>(static_cast<float>(k_now[to_size(from * s.H + i)])));
          }
          for (index_t i = 0; i < s.Hv; ++i) {
            values.push_back(source.value(b, h, slot)[i]);
            values_expected.push_back(
                static_cast<E>(static_cast<float>(v_values[to_size(from * s.Hv + i)])));
          }
        }
    EXPECT_TRUE(support::same_bits(keys, keys_expected));
    EXPECT_TRUE(support::same_bits(values, values_expected));
  }

  static TensorView<T, 4> view(Tensor& x) { return {x.data(), x.extents(), x.strides()}; }
  std::vector<T> fill(Tensor& x, index_t width) {
    auto n = cuda_test::numbers<T>(random, s.B * s.T * width);
    x.assign(std::span<const T>(n));
    return n;
  }

  RopeShape s;
  RopePairing pairing;
  support::Random random{7};
  std::vector<index_t> before;
  Tensor q, k, v;
  std::vector<T> q_values, k_values, v_values;
  std::vector<float> table;
  std::vector<oracle::Index> positions;
};

/// Bytes that the kernel wrote to a cache of NaN: all of them in slots of new tokens.
template <class E>
std::ptrdiff_t written(const support::PoisonedTensor<E, 4>& cache) {
  const auto x = cache.template values<std::vector<E>>();
  return std::count_if(x.begin(), x.end(), [](E e) { return !std::isnan(static_cast<float>(e)); });
}

template <class T, class E = T>
void expect_contiguous(RopeShape s, RopePairing pairing, index_t gap, std::uint64_t seed = 1) {
  SCOPED_TRACE(testing::Message() << "H " << s.H << ", r " << s.r << ", gap " << gap);
  AppendCase<T, E> c(s, pairing, gap);
  support::PoisonedTensor<E, 4> keys({s.B, 40, s.K, s.H}, gap), values({s.B, 40, s.K, s.Hv}, gap);
  const cuda::KeyRows<E> cache{
      TensorView<const E, 4>(keys.data(), keys.extents(), keys.strides()),
      TensorView<const E, 4>(values.data(), values.extents(), values.strides())};
  c.run(c.arguments(cache), seed);
  c.expect_done(cache);
  EXPECT_TRUE(keys.gaps_intact() && values.gaps_intact());
  EXPECT_EQ(written(keys), s.B * s.T * s.K * s.H);
  EXPECT_EQ(written(values), s.B * s.T * s.K * s.Hv);
}

constexpr RopePairing pairings[] = {RopePairing::half_split, RopePairing::interleaved};

TEST(RopeAppend, TurnsAndAppendsToRows) {
  for (const RopePairing pairing : pairings)
    for (const index_t gap : {0, 8, 3}) {
      expect_contiguous<bfloat16>({2, 3, 4, 2, 64, 64, 64}, pairing, gap);
      expect_contiguous<half>({1, 2, 3, 1, 80, 40, 32}, pairing, gap);
      expect_contiguous<float>({2, 1, 2, 2, 36, 20, 20}, pairing, gap);
      expect_contiguous<bfloat16>({2, 2, 2, 1, 13, 7, 6}, pairing, gap);
      expect_contiguous<bfloat16>({1, 2, 2, 1, 16, 16, 0}, pairing, gap);
    }
}

TEST(RopeAppend, RoundsOnceMoreToTheTypeOfTheCache) {
  for (const RopePairing pairing : pairings) {
    expect_contiguous<float, bfloat16>({2, 2, 4, 2, 64, 64, 48}, pairing, 0);
    expect_contiguous<float, half>({1, 2, 2, 1, 13, 9, 6}, pairing, 1);
    expect_contiguous<bfloat16, float>({1, 2, 2, 1, 40, 24, 32}, pairing, 0);
  }
}

TEST(RopeAppend, NoThreadWritesWhatAnotherOneDoes) {
  // Wider pieces of the cache than of k and v, and warps in any order.
  for (std::uint64_t seed = 1; seed < 9; ++seed)
    for (const RopePairing pairing : pairings)
      expect_contiguous<float, bfloat16>({1, 2, 2, 4, 72, 72, 56}, pairing, 0, seed);
}

TEST(RopeAppend, AppendsToPages) {
  const RopeShape s{3, 5, 4, 2, 64, 32, 64};
  AppendCase<bfloat16, bfloat16> c(s, RopePairing::half_split, 8);
  constexpr index_t page = 4, pages_of_each = 8;
  support::PoisonedTensor<bfloat16, 4> keys({s.B * pages_of_each, page, s.K, s.H}, 0);
  support::PoisonedTensor<bfloat16, 4> values({s.B * pages_of_each, page, s.K, s.Hv}, 0);
  std::vector<std::int32_t> table(to_size(s.B * pages_of_each));
  std::iota(table.begin(), table.end(), 0);
  for (std::size_t i = table.size() - 1; i > 0; --i)
    std::swap(table[i], table[to_size(c.random.integer(0, static_cast<std::ptrdiff_t>(i)))]);
  const cuda::KeyPages<bfloat16> cache{
      TensorView<const bfloat16, 4>(keys.data(), keys.extents(), keys.strides()),
      TensorView<const bfloat16, 4>(values.data(), values.extents(), values.strides()),
      MatrixView<const std::int32_t>(table.data(), {s.B, pages_of_each}), nullptr, 2};
  c.run(c.arguments(cache));
  c.expect_done(cache);
  EXPECT_EQ(written(keys), s.B * s.T * s.K * s.H);
  EXPECT_EQ(written(values), s.B * s.T * s.K * s.Hv);
}

TEST(RopeAppend, PackedSequencesHaveTheirOwnLengths) {
  // Five tokens behind each other: two of sequence 0, none of 1, three of 2.
  const RopeShape s{1, 5, 2, 1, 32, 32, 32};
  AppendCase<bfloat16, bfloat16> c(s, RopePairing::half_split, 0);
  const std::vector<std::int32_t> starts = {0, 2, 2, 5};
  const std::vector<index_t> before = {4, 9, 0};
  support::PoisonedTensor<bfloat16, 4> keys({3, 16, 1, 32}, 0), values({3, 16, 1, 32}, 0);
  const cuda::KeyRows<bfloat16> cache{
      TensorView<const bfloat16, 4>(keys.data(), keys.extents(), keys.strides()),
      TensorView<const bfloat16, 4>(values.data(), values.extents(), values.strides())};
  auto a = c.arguments(cache);
  const index_t shape[4] = {3, 5, 1, 32}, strides[4] = {0, 32, 32, 1};
  const index_t q_shape[4] = {3, 5, 2, 32}, q_strides[4] = {0, 64, 32, 1};
  a.q = {c.q.data(), q_shape, q_strides};
  a.k = {c.k.data(), shape, strides};
  a.v = TensorView<bfloat16, 4>(c.v.data(), shape, strides);
  a.lengths = before.data();
  a.queries.starts = starts.data();
  a.most_tokens = 3;
  c.run(a);
  const auto k_now = c.k.values<std::vector<bfloat16>>();
  const Vec expected = c.turned(c.k_values, 1);
  EXPECT_TRUE(support::all_within(k_now, expected,
                                  cuda_test::budget(expected, 1.1 * half_ulp<bfloat16>, 2e-6)));
  const index_t sequence[] = {0, 0, 2, 2, 2}, slot[] = {4, 5, 0, 1, 2};
  for (std::size_t i = 0; i < 5; ++i)
    for (index_t d = 0; d < 32; ++d) {
      EXPECT_EQ(cache.key(sequence[i], 0, slot[i])[d].bits, k_now[i * 32 + to_size(d)].bits);
      EXPECT_EQ(cache.value(sequence[i], 0, slot[i])[d].bits, c.v_values[i * 32 + to_size(d)].bits);
    }
  EXPECT_EQ(written(keys), 5 * 32);
}

}  // namespace
