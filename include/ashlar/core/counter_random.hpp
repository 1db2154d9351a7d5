// Random numbers that are a function of a counter: no state to keep, the same on host and device.
#pragma once

#include <ashlar/core/types.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Philox 4x32 with 10 rounds. Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1,
/// 2, 3".
struct Philox {
  std::uint32_t word[4];

  ASHLAR_HD static constexpr Philox at(Philox counter, std::uint32_t key0, std::uint32_t key1) {
    Philox x = counter;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53u} * x.word[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * x.word[2];
      x = {{static_cast<std::uint32_t>(b >> 32) ^ x.word[1] ^ key0, static_cast<std::uint32_t>(b),
            static_cast<std::uint32_t>(a >> 32) ^ x.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    return x;
  }
};

/// Number `step` of the sequence that `seed` names, 64 bits.
ASHLAR_HD constexpr std::uint64_t counter_random(std::uint64_t seed, std::uint64_t step) {
  const Philox x =
      Philox::at({{static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32), 0, 0}},
                 static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  return std::uint64_t{x.word[1]} << 32 | x.word[0];
}

/// A number below n from 64 random bits: the upper half of the product of both.
ASHLAR_HD constexpr std::uint64_t random_below(std::uint64_t random, std::uint64_t n) {
  constexpr std::uint64_t low = 0xffffffffu;
  const std::uint64_t a0 = random & low, a1 = random >> 32, b0 = n & low, b1 = n >> 32;
  const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & low);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

}  // namespace ashlar::inline ASHLAR_ABI
