// Picks a token from each row of logits, without a sort and without atomics: the place in the order
// that a count or a weight reaches is found digit by digit, from sums over the tokens of a digit.
#pragma once

#include <ashlar/cuda/block_reduce.hpp>
#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/row_access.hpp>
#include <ashlar/cuda/sample_rule.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// logits [M, V], options, steps and tokens [M], all on the device. tokens[m] becomes the token
/// that options[m] says, or -1 where no logit is above -inf. The random number is number steps[m]
/// of the sequence of the row's seed, so that a row's token depends on nothing but its own inputs.
template <class T>
struct SampleArguments {
  MatrixView<const T> logits;
  VectorView<const SampleOptions> options;
  VectorView<const std::uint64_t> steps;
  VectorView<std::int32_t> tokens;
};

/// A block a row. Logits are read again for each digit, until those that are left fit a list in
/// shared memory.
template <class T, int Warps>
struct SampleRows {
  using Arguments = SampleArguments<T>;
  static constexpr int needs_architecture = 0;
  static constexpr int warps = Warps, threads = 32 * warps, blocks_per_multiprocessor = 1;
  static constexpr int N = piece<T>, together = 4;
  static constexpr int digits = 16, digit_bits = 4;
  static constexpr std::uint32_t most_listed = 2048;

  // Shared memory: a sum for each digit and thread, totals, the list.
  static constexpr std::uint32_t weights_at = 0, counts_at = weights_at + 8 * digits * threads;
  static constexpr std::uint32_t total_weights_at = counts_at + 4 * digits * threads;
  static constexpr std::uint32_t total_counts_at = total_weights_at + 8 * digits;
  static constexpr std::uint32_t best_at = total_counts_at + 4 * digits;
  static constexpr std::uint32_t list_at = best_at + 8 * warps;
  static std::size_t shared_bytes(const Arguments&) { return list_at + 8 * most_listed; }
  static Grid grid(const Arguments& a) { return {a.logits.extent(0)}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t m = P::block_x();
    const SampleOptions o = a.options.data()[m];
    Row<P> row(a.logits.row(m), a.logits.extent(1));
    const std::uint64_t best = row.best();
    std::int32_t* token = a.tokens.data() + m;
    const bool exists = TokenRank::logit(best) > -HUGE_VALF;
    if (!exists || o.temperature == 0.f || o.top_k == 1) {
      if (P::thread() == 0) *token = exists ? row.order.token(best) : -1;
      return;
    }
    row.best_logit = TokenRank::logit(best);
    row.temperature = o.temperature;
    if (o.top_k > 0)
      row.lowest = row.template reach<true>([&](std::uint64_t count, std::uint64_t) {
                        const auto k = static_cast<std::uint64_t>(o.top_k);
                        return k < count ? k : count;
                      })
                       .lowest;
    if (o.top_p < 1.f)
      row.lowest = row.template reach<false>([&](std::uint64_t, std::uint64_t weight) {
                        return weight_of_share(weight, o.top_p);
                      })
                       .lowest;
    row.least = least_weight(o.min_p);
    const Place drawn = row.template reach<false>([&](std::uint64_t, std::uint64_t weight) {
      return random_below(counter_random(o.seed, a.steps.data()[m]), weight) + 1;
    });
    row.each([&](std::uint64_t rank) {
      if (rank >> drawn.shift == drawn.lowest >> drawn.shift && row.is_left(rank))
        *token = row.order.token(rank);  // of one thread only
    });
  }

 private:
  /// The ranks from `lowest` on reach what was asked for. The one that does it is the only one
  /// whose rank agrees with `lowest` above bit `shift`, or all of those are needed.
  struct Place {
    std::uint64_t lowest;
    int shift;
  };
  struct Sums {
    std::uint64_t count = 0, weight = 0;
  };

  template <class P>
  struct Row {
    const T* logits;
    index_t width;
    TokenRank order;
    float best_logit = 0.f, temperature = 1.f;
    std::uint64_t lowest = 0, least = 1;  // ranks and weights that are left
    bool is_listed = false;
    std::uint32_t listed = 0, base = P::shared_base();

    ASHLAR_DEVICE Row(const T* x, index_t n)
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
          f(P::template load_shared<std::uint64_t>(base + list_at + 8 * i));
        return;
      }
      for (index_t at = index_t{P::thread()} * N; at < width;
           at += index_t{threads} * N * together) {
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
    ASHLAR_DEVICE std::uint64_t best() const {
      std::uint64_t top = 0;
      each([&](std::uint64_t rank) { top = rank > top ? rank : top; });
      ASHLAR_DEVICE_UNROLL
      for (int mask = 16; mask > 0; mask /= 2) {
        const std::uint64_t other = exchange(top, mask);
        top = other > top ? other : top;
      }
      if (P::thread() % 32 == 0)
        P::store_shared(base + best_at + 8 * static_cast<std::uint32_t>(P::thread() / 32), top);
      P::sync_block();
      for (std::uint32_t w = 0; w < warps; ++w) {
        const auto other = P::template load_shared<std::uint64_t>(base + best_at + 8 * w);
        top = other > top ? other : top;
      }
      return top;
    }
    static ASHLAR_DEVICE std::uint64_t exchange(std::uint64_t x, int mask) {
      const std::uint32_t low = P::shuffle_xor(static_cast<std::uint32_t>(x), mask);
      return std::uint64_t{P::shuffle_xor(static_cast<std::uint32_t>(x >> 32), mask)} << 32 | low;
    }

    /// The place in the order where the ranks that are left reach target_of(their count, their
    /// weight), in count or in weight.
    template <bool ByCount, class TargetOf>
    ASHLAR_DEVICE Place reach(TargetOf target_of) {
      std::uint64_t prefix = 0, target = 0, above = 0;
      int id_bits = 0;
      while (id_bits < 32 && order.last >> id_bits != 0) id_bits += digit_bits;
      for (int shift = 64 - digit_bits;;) {
        sum_digits(shift, prefix);
        Sums all, at;
        if (shift == 64 - digit_bits) {
          for (int d = 0; d < digits; ++d) {
            const Sums s = total(d);
            all.count += s.count;
            all.weight += s.weight;
          }
          target = target_of(all.count, all.weight);
        }
        int digit = digits - 1;
        for (;; --digit) {
          at = total(digit);
          const std::uint64_t here = ByCount ? at.count : at.weight;
          if (target <= here || digit == 0) break;
          target -= here;
          above += at.count;
        }
        prefix = prefix << digit_bits | static_cast<std::uint64_t>(digit);
        const Place place{prefix << shift, shift};
        if (at.count <= 1 || (ByCount && at.count == target)) return place;
        if (!is_listed && above + at.count <= most_listed)
          make_list(place.lowest, static_cast<std::uint32_t>(above + at.count));
        if (shift == 32) {  // the bits above those of a token's number are 0
          prefix <<= 32 - id_bits;
          shift = id_bits;
        }
        shift -= digit_bits;
      }
    }
    /// Sums of the ranks that are left and begin with `prefix`, for each value of their next digit.
    ASHLAR_DEVICE void sum_digits(int shift, std::uint64_t prefix) const {
      const std::uint32_t own = static_cast<std::uint32_t>(P::thread());
      for (std::uint32_t d = 0; d < digits; ++d) {
        P::template store_shared<std::uint64_t>(base + weights_at + 8 * (d * threads + own), 0);
        P::template store_shared<std::uint32_t>(base + counts_at + 4 * (d * threads + own), 0);
      }
      each([&](std::uint64_t rank) {
        if (rank < lowest || (rank >> shift) >> digit_bits != prefix) return;
        const std::uint64_t w = weight(rank);
        if (w < least) return;
        const auto d = static_cast<std::uint32_t>(rank >> shift) % digits;
        const std::uint32_t weights = base + weights_at + 8 * (d * threads + own);
        const std::uint32_t counts = base + counts_at + 4 * (d * threads + own);
        P::store_shared(weights, P::template load_shared<std::uint64_t>(weights) + w);
        P::store_shared(counts, P::template load_shared<std::uint32_t>(counts) + 1);
      });
      P::sync_block();
      for (std::uint32_t d = own / 32; d < digits; d += warps) {
        std::uint64_t w = 0;
        std::uint32_t n = 0;
        for (std::uint32_t t = own % 32; t < threads; t += 32) {
          w += P::template load_shared<std::uint64_t>(base + weights_at + 8 * (d * threads + t));
          n += P::template load_shared<std::uint32_t>(base + counts_at + 4 * (d * threads + t));
        }
        ASHLAR_DEVICE_UNROLL
        for (int mask = 16; mask > 0; mask /= 2) {
          w += exchange(w, mask);
          n += P::shuffle_xor(n, mask);
        }
        if (own % 32 != 0) continue;
        P::store_shared(base + total_weights_at + 8 * d, w);
        P::store_shared(base + total_counts_at + 4 * d, n);
      }
      P::sync_block();
    }
    ASHLAR_DEVICE Sums total(int digit) const {
      const auto d = static_cast<std::uint32_t>(digit);
      return {P::template load_shared<std::uint32_t>(base + total_counts_at + 4 * d),
              P::template load_shared<std::uint64_t>(base + total_weights_at + 8 * d)};
    }

    /// Leaves the `count` ranks from `from` on in the list: the others are out for good.
    ASHLAR_DEVICE void make_list(std::uint64_t from, std::uint32_t count) {
      const auto own = static_cast<std::uint32_t>(P::thread());
      std::uint32_t mine = 0, place = 0;
      each([&](std::uint64_t rank) { mine += rank >= from && is_left(rank); });
      P::store_shared(base + counts_at + 4 * own, mine);
      P::sync_block();
      for (std::uint32_t t = 0; t < own; ++t)
        place += P::template load_shared<std::uint32_t>(base + counts_at + 4 * t);
      each([&](std::uint64_t rank) {
        if (rank >= from && is_left(rank)) P::store_shared(base + list_at + 8 * place++, rank);
      });
      P::sync_block();
      is_listed = true;
      listed = count;
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
