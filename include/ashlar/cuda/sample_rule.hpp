// What sampling a token means, in integers, so that a sum has the same bits in every order: weights
// are parts of 2^40 of the best token's.
#pragma once

#include <ashlar/core/counter_random.hpp>
#include <ashlar/core/math.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Tokens are drawn from softmax(logits / temperature), cut by top-k, then top-p, then min-p.
/// Tokens rank by logit, equal ones by number, the lowest first; a NaN counts as -inf.
struct SampleOptions {
  float temperature = 1.f;  // 0 takes the first token of the order
  float top_p = 1.f;        // the shortest prefix of the order whose weight reaches this share
  float min_p = 0.f;        // tokens of at least this share of the best one's weight
  std::int32_t top_k = 0;   // so many tokens of the order; 0: all
  std::uint64_t seed = 0;
};

/// The weight of the best token. Those of less than 2^-40 of it have none: they are never drawn.
inline constexpr std::uint64_t best_weight = std::uint64_t{1} << 40;

ASHLAR_HD inline std::uint64_t sample_weight(float logit, float best, float temperature) {
  if (logit == best) return best_weight;
  return static_cast<std::uint64_t>(math::exp((logit - best) / temperature) * 0x1p40f);
}
/// The least weight that min-p keeps.
ASHLAR_HD inline std::uint64_t least_weight(float min_p) {
  const auto least = static_cast<std::uint64_t>(std::ceil(static_cast<double>(min_p) * 0x1p40));
  return least < 1 ? 1 : least;
}
/// What a prefix must weigh to reach a share of the whole.
ASHLAR_HD inline std::uint64_t weight_of_share(std::uint64_t whole, float share) {
  const double part = std::ceil(static_cast<double>(share) * static_cast<double>(whole));
  const auto weight = static_cast<std::uint64_t>(part);
  return weight < 1 ? 1 : weight > whole ? whole : weight;
}

/// A token's place in the order as a number; the best token has the largest one.
struct TokenRank {
  std::uint32_t last;  // the last token

  ASHLAR_HD std::uint64_t of(float logit, std::uint32_t token) const {
    return std::uint64_t{key(logit)} << 32 | (last - token);
  }
  ASHLAR_HD std::int32_t token(std::uint64_t rank) const {
    return static_cast<std::int32_t>(last - static_cast<std::uint32_t>(rank));
  }
  ASHLAR_HD static float logit(std::uint64_t rank) {
    const auto k = static_cast<std::uint32_t>(rank >> 32);
    return __builtin_bit_cast(float, k >> 31 ? k & 0x7fffffffu : ~k);
  }
  /// Ascends with x; of both zeros the same.
  ASHLAR_HD static std::uint32_t key(float x) {
    const float y = x == x ? x + 0.f : -HUGE_VALF;
    const auto bits = __builtin_bit_cast(std::uint32_t, y);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
