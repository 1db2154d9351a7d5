// Words that go into a section of the conformance tests, and those that come out.
#pragma once

#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "conformance.hpp"
#include "emulation/launch.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"

namespace conformance {

using Words = std::vector<Word>;

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

inline Words random_words(int count, std::uint64_t seed) {
  support::Random random(seed);
  Words x(static_cast<std::size_t>(count));
  for (Word& w : x) w = static_cast<Word>(random.integer(0, 0xffffffff));
  return x;
}

/// Empty, or the first of the words that is not as expected(thread, result) says; they lie
/// `of_threads` apart.
template <class Expected>
std::string difference(const Words& got, int results, Expected expected, int of_threads = threads) {
  for (int i = 0; i < results; ++i)
    for (int t = 0; t < of_threads; ++t) {
      const Word g = got[at(i * of_threads + t)], e = expected(t, i);
      if (g == e) continue;
      char text[120];
      std::snprintf(text, sizeof text, "result %d of thread %d: got %08x, expected %08x", i, t, g,
                    e);
      return text;
    }
  return "";
}

}  // namespace conformance
