// A row of logits as ranks of tokens that a block passes over again and again: from global memory,
// until those that are left fit a list in shared memory.
#pragma once

#include <ashlar/cuda/row_access.hpp>
#include <ashlar/cuda/sample_rule.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Shared memory of a scan by `threads` threads: for each value of a digit and each thread a sum of
/// weights and a count, their totals, a number for each warp, the list.
template <int threads>
struct ScanPlaces {
  static constexpr std::uint32_t digits = 16, most_listed = 2048;
  static constexpr std::uint32_t weights = 0, counts = weights + 8 * digits * threads;
  static constexpr std::uint32_t total_weights = counts + 4 * digits * threads;
  static constexpr std::uint32_t total_counts = total_weights + 8 * digits;
  static constexpr std::uint32_t warps = total_counts + 4 * digits, list = warps + threads / 4;
  static constexpr std::uint32_t bytes = list + 8 * most_listed;
};

/// 64 bits from the lane whose number differs by `mask`.
template <class P>
ASHLAR_DEVICE std::uint64_t exchange(std::uint64_t x, int mask) {
  const std::uint32_t low = P::shuffle_xor(static_cast<std::uint32_t>(x), mask);
  return std::uint64_t{P::shuffle_xor(static_cast<std::uint32_t>(x >> 32), mask)} << 32 | low;
}

template <class P, class T, int threads>
struct SampleScan {
  using Places = ScanPlaces<threads>;
  static constexpr int N = piece<T>, together = 4;

  const T* logits;
  index_t width;
  TokenRank order;
  float best_logit = 0.f, temperature = 1.f;
  std::uint64_t lowest = 0, least = 1;  // the rank and the weight from which on tokens are left
  bool is_listed = false;
  std::uint32_t listed = 0, base = P::shared_base();

  ASHLAR_DEVICE SampleScan(const T* x, index_t n)
      : logits(x), width(n), order{static_cast<std::uint32_t>(n - 1)} {}

  ASHLAR_DEVICE std::uint64_t weight(std::uint64_t rank) const {
    return sample_weight(TokenRank::logit(rank), best_logit, temperature);
  }
  ASHLAR_DEVICE bool is_left(std::uint64_t rank) const {
    return rank >= lowest && weight(rank) >= least;
  }

  /// f(rank) of this thread's share of the row or of the list.
  template <class F>
  ASHLAR_DEVICE void each(F f) const {
    if (is_listed) {
      for (auto i = static_cast<std::uint32_t>(P::thread()); i < listed; i += threads)
        f(P::template load_shared<std::uint64_t>(base + Places::list + 8 * i));
      return;
    }
    for (index_t at = index_t{P::thread()} * N; at < width; at += index_t{threads} * N * together) {
      Quad x[together];
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < together; ++i)
        x[i] = load_piece<P>(logits, min_index(at + index_t{i} * threads * N, width), width);
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < together; ++i) {
        float v[N];
        to_floats<P, T>(x[i], v);
        const index_t first = at + index_t{i} * threads * N;
        ASHLAR_DEVICE_UNROLL
        for (int e = 0; e < N; ++e)
          if (first + e < width) f(order.of(v[e], static_cast<std::uint32_t>(first + e)));
      }
    }
  }

  /// The largest rank of the row, in every thread.
  ASHLAR_DEVICE std::uint64_t best() const {
    std::uint64_t top = 0;
    each([&](std::uint64_t rank) { top = rank > top ? rank : top; });
    ASHLAR_DEVICE_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) {
      const std::uint64_t other = exchange<P>(top, mask);
      top = other > top ? other : top;
    }
    const auto own = static_cast<std::uint32_t>(P::thread());
    if (own % 32 == 0) P::store_shared(base + Places::warps + own / 4, top);
    P::sync_block();
    for (std::uint32_t w = 0; w < threads / 32; ++w) {
      const auto other = P::template load_shared<std::uint64_t>(base + Places::warps + 8 * w);
      top = other > top ? other : top;
    }
    return top;
  }

  /// Leaves the ranks from `from` on in the list, if they fit: the others are out for good.
  ASHLAR_DEVICE void make_list(std::uint64_t from) {
    const auto own = static_cast<std::uint32_t>(P::thread());
    from = from > lowest ? from : lowest;
    std::uint32_t mine = 0, place = 0, all = 0;
    each([&](std::uint64_t rank) { mine += rank >= from; });
    P::store_shared(base + Places::counts + 4 * own, mine);
    P::sync_block();
    for (std::uint32_t t = 0; t < threads; ++t) {
      if (t == own) place = all;
      all += P::template load_shared<std::uint32_t>(base + Places::counts + 4 * t);
    }
    if (all <= Places::most_listed) {
      each([&](std::uint64_t rank) {
        if (rank >= from) P::store_shared(base + Places::list + 8 * place++, rank);
      });
      is_listed = true;
      listed = all;
    }
    P::sync_block();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
