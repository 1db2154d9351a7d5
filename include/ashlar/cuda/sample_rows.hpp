// Picks a token from each row of logits, without a sort and without atomics: the place in the order
// that a count or a weight reaches is found digit by digit, from sums over the tokens of a digit.
#pragma once

#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/sample_scan.hpp>

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

/// A block a row. The order is cut three times in the same way, at what top-k, top-p and the random
/// number say; the token of the last cut is the one drawn.
template <class T, int Warps>
struct SampleRows {
  using Arguments = SampleArguments<T>;
  static constexpr int needs_architecture = 0;
  static constexpr int warps = Warps, threads = 32 * warps, blocks_per_multiprocessor = 1;
  using Places = ScanPlaces<threads>;
  static constexpr int digit_bits = 4, digits = 1 << digit_bits;
  static std::size_t shared_bytes(const Arguments&) { return Places::bytes; }
  static Grid grid(const Arguments& a) { return {a.logits.extent(0)}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t m = P::block_x();
    const SampleOptions o = a.options.data()[m];
    Scan<P> scan(a.logits.row(m), a.logits.extent(1));
    const std::uint64_t best = scan.best();
    std::int32_t* token = a.tokens.data() + m;
    const bool exists = TokenRank::logit(best) > -HUGE_VALF;
    if (!exists || o.temperature == 0.f || o.top_k == 1) {
      if (P::thread() == 0) *token = exists ? scan.order.token(best) : -1;
      return;
    }
    scan.best_logit = TokenRank::logit(best);
    scan.temperature = o.temperature;
    const std::uint64_t random = counter_random(o.seed, a.steps.data()[m]);
    Place place{};
    for (int cut = o.top_k > 0 ? top_k : top_p; cut <= draw; ++cut) {
      if (cut == top_p && !(o.top_p < 1.f)) continue;
      if (cut == draw) scan.least = least_weight(o.min_p);
      place = reach<P>(scan, cut == top_k, [&](std::uint64_t count, std::uint64_t weight) {
        const auto k = static_cast<std::uint64_t>(o.top_k);
        if (cut == top_k) return k < count ? k : count;
        return cut == top_p ? weight_of_share(weight, o.top_p) : random_below(random, weight) + 1;
      });
      if (cut != draw) scan.lowest = place.lowest;
    }
    scan.each([&](std::uint64_t rank) {  // one thread finds it
      if (rank >> place.shift == place.lowest >> place.shift && scan.is_left(rank))
        *token = scan.order.token(rank);
    });
  }

 private:
  template <class P>
  using Scan = SampleScan<P, T, threads>;
  enum Cut : int { top_k, top_p, draw };

  /// The ranks from `lowest` on reach what was asked for. The one that does it is the only one left
  /// that agrees with `lowest` from bit `shift` on; for a count, all of those may be needed.
  struct Place {
    std::uint64_t lowest;
    int shift;
  };
  struct Sums {
    std::uint64_t count = 0, weight = 0;
  };

  /// The place in the order where the ranks that are left reach target_of(their count, their
  /// weight), in count or in weight.
  template <class P, class TargetOf>
  static ASHLAR_DEVICE Place reach(Scan<P>& scan, bool by_count, TargetOf target_of) {
    std::uint64_t prefix = 0, target = 0, above = 0;
    int token_bits = 0;
    while (token_bits < 32 && scan.order.last >> token_bits != 0) token_bits += digit_bits;
    for (int shift = 64 - digit_bits;;) {
      sum_digits<P>(scan, shift, prefix, by_count);
      if (shift == 64 - digit_bits) {
        Sums all;
        for (int d = 0; d < digits; ++d) {
          const Sums s = total<P>(scan, d);
          all.count += s.count;
          all.weight += s.weight;
        }
        target = target_of(all.count, all.weight);
      }
      int digit = digits - 1;
      Sums here = total<P>(scan, digit);
      while (digit > 0 && target > (by_count ? here.count : here.weight)) {
        target -= by_count ? here.count : here.weight;
        above += here.count;
        here = total<P>(scan, --digit);
      }
      prefix = prefix << digit_bits | static_cast<std::uint64_t>(digit);
      const Place place{prefix << shift, shift};
      if (here.count <= 1 || (by_count && here.count == target)) return place;
      if (!scan.is_listed && above + here.count <= Places::most_listed)
        scan.make_list(place.lowest);
      if (shift == 32) {  // the bits above those of a token's number are 0
        prefix <<= 32 - token_bits;
        shift = token_bits;
      }
      shift -= digit_bits;
    }
  }

  /// Sums of the ranks that are left and begin with `prefix`, for each value of their next digit.
  /// Counts alone need no weights, and ranks without one are behind all others.
  template <class P>
  static ASHLAR_DEVICE void sum_digits(const Scan<P>& scan, int shift, std::uint64_t prefix,
                                       bool only_counts) {
    const auto own = static_cast<std::uint32_t>(P::thread());
    const auto weight_at = [&](std::uint32_t digit, std::uint32_t thread) {
      return scan.base + Places::weights + 8 * (digit * threads + thread);
    };
    const auto count_at = [&](std::uint32_t digit, std::uint32_t thread) {
      return scan.base + Places::counts + 4 * (digit * threads + thread);
    };
    for (std::uint32_t d = 0; d < digits; ++d) {
      P::store_shared(weight_at(d, own), std::uint64_t{0});
      P::store_shared(count_at(d, own), std::uint32_t{0});
    }
    scan.each([&](std::uint64_t rank) {
      if (rank < scan.lowest || (rank >> shift) >> digit_bits != prefix) return;
      const auto d = static_cast<std::uint32_t>(rank >> shift) % digits;
      if (!only_counts) {
        const std::uint64_t w = scan.weight(rank);
        if (w < scan.least) return;
        P::store_shared(weight_at(d, own),
                        P::template load_shared<std::uint64_t>(weight_at(d, own)) + w);
      }
      P::store_shared(count_at(d, own),
                      P::template load_shared<std::uint32_t>(count_at(d, own)) + 1);
    });
    P::sync_block();
    for (std::uint32_t d = own / 32; d < digits; d += warps) {
      std::uint64_t w = 0;
      std::uint32_t n = 0;
      for (std::uint32_t t = own % 32; t < threads; t += 32) {
        w += P::template load_shared<std::uint64_t>(weight_at(d, t));
        n += P::template load_shared<std::uint32_t>(count_at(d, t));
      }
      ASHLAR_DEVICE_UNROLL
      for (int mask = 16; mask > 0; mask /= 2) {
        w += exchange<P>(w, mask);
        n += P::shuffle_xor(n, mask);
      }
      if (own % 32 != 0) continue;
      P::store_shared(scan.base + Places::total_weights + 8 * d, w);
      P::store_shared(scan.base + Places::total_counts + 4 * d, n);
    }
    P::sync_block();
  }
  template <class P>
  static ASHLAR_DEVICE Sums total(const Scan<P>& scan, int digit) {
    const std::uint32_t d = static_cast<std::uint32_t>(digit), base = scan.base;
    return {P::template load_shared<std::uint32_t>(base + Places::total_counts + 4 * d),
            P::template load_shared<std::uint64_t>(base + Places::total_weights + 8 * d)};
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
