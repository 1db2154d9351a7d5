// Comparisons that cannot be fooled: a NaN on one side only, an infinity of another sign or another
// size always fails. Each returns a gtest AssertionResult that names the worst element.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <span>
#include <type_traits>

namespace support {

/// A flat run of elements of any type that converts to double, from a vector, span or array.
template <class R>
auto as_span(const R& range) {
  return std::span<const std::remove_cvref_t<decltype(*std::data(range))>>(std::data(range),
                                                                           std::size(range));
}

/// Both NaN, or both infinite with one sign, or both finite and at most `tolerance` apart.
inline bool close(double got, double expected, double tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance;
}

template <class Tolerance>
::testing::AssertionResult compare_each(std::size_t got_size, std::size_t expected_size,
                                        const auto& got, const auto& expected,
                                        const Tolerance& tolerance) {
  if (got_size != expected_size)
    return ::testing::AssertionFailure()
           << "got " << got_size << " elements, expected " << expected_size;
  std::size_t bad = 0, worst = 0;
  double worst_ratio = -1;
  for (std::size_t i = 0; i < expected_size; ++i) {
    const auto g = static_cast<double>(got[i]), e = static_cast<double>(expected[i]);
    const double allowed = tolerance(i);
    // A tolerance that is NaN or negative would accept nothing or hide a broken budget: report it.
    if (std::isnan(allowed) || allowed < 0)
      return ::testing::AssertionFailure() << "tolerance " << allowed << " at element " << i;
    if (close(g, e, allowed)) continue;
    ++bad;
    const double distance = std::abs(g - e);
    const double ratio =
        std::isfinite(distance) ? distance / (allowed > 0 ? allowed : 5e-324) : HUGE_VAL;
    if (ratio > worst_ratio) {
      worst_ratio = ratio;
      worst = i;
    }
  }
  if (bad == 0) return ::testing::AssertionSuccess();
  char text[200];
  std::snprintf(text, sizeof text,
                "; worst at %zu: got %.17g, expected %.17g, difference %.3g, allowed %.3g", worst,
                static_cast<double>(got[worst]), static_cast<double>(expected[worst]),
                std::abs(static_cast<double>(got[worst]) - static_cast<double>(expected[worst])),
                tolerance(worst));
  return ::testing::AssertionFailure()
         << bad << " of " << expected_size << " elements differ" << text;
}

/// |got - expected| <= tolerance for every element.
template <class Got, class Expected>
::testing::AssertionResult all_close(const Got& got, const Expected& expected, double tolerance) {
  const auto g = as_span(got);
  const auto e = as_span(expected);
  return compare_each(g.size(), e.size(), g, e, [&](std::size_t) { return tolerance; });
}

/// |got - expected| <= tolerance[i]: an error budget of its own for every element.
template <class Got, class Expected, class Budget>
requires(!std::is_arithmetic_v<Budget>)::testing::AssertionResult
    all_within(const Got& got, const Expected& expected, const Budget& budget) {
  const auto g = as_span(got);
  const auto e = as_span(expected);
  const auto t = as_span(budget);
  if (t.size() != e.size())
    return ::testing::AssertionFailure()
           << "got " << t.size() << " budgets for " << e.size() << " elements";
  return compare_each(g.size(), e.size(), g, e,
                      [&](std::size_t i) { return static_cast<double>(t[i]); });
}

/// Largest finite magnitude; 0 for none.
template <class Range>
double max_magnitude(const Range& range) {
  double top = 0;
  for (const auto& x : as_span(range)) {
    const double a = std::abs(static_cast<double>(x));
    if (std::isfinite(a) && a > top) top = a;
  }
  return top;
}

/// |got - expected| <= factor * (largest magnitude in expected).
template <class Got, class Expected>
::testing::AssertionResult all_close_to_largest(const Got& got, const Expected& expected,
                                                double factor) {
  return all_close(got, expected, factor * max_magnitude(expected));
}

/// Every bit equal; tells 0 from -0 and one NaN from another.
template <class Got, class Expected>
::testing::AssertionResult same_bits(const Got& got, const Expected& expected) {
  const auto g = as_span(got);
  const auto e = as_span(expected);
  static_assert(std::is_same_v<decltype(g), decltype(e)>, "same_bits compares equal element types");
  if (g.size() != e.size())
    return ::testing::AssertionFailure()
           << "got " << g.size() << " elements, expected " << e.size();
  for (std::size_t i = 0; i < e.size(); ++i)
    if (std::memcmp(&g[i], &e[i], sizeof g[i]) != 0)
      return ::testing::AssertionFailure()
             << "bits differ first at " << i << ": got " << static_cast<double>(g[i])
             << ", expected " << static_cast<double>(e[i]);
  return ::testing::AssertionSuccess();
}

/// FNV-1a over the bytes: two runs print the same value exactly when they gave the same bits.
template <class Range>
std::uint64_t hash_bits(const Range& range, std::uint64_t hash = 0xcbf29ce484222325u) {
  const auto s = as_span(range);
  for (const std::byte b : std::as_bytes(s)) {
    hash ^= static_cast<std::uint64_t>(b);
    hash *= 0x100000001b3u;
  }
  return hash;
}

/// Normalised mean square error |got - expected|^2 / |expected|^2.
template <class Got, class Expected>
double normalised_square_error(const Got& got, const Expected& expected) {
  const auto g = as_span(got);
  const auto e = as_span(expected);
  if (g.size() != e.size()) return HUGE_VAL;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const auto x = static_cast<double>(g[i]), y = static_cast<double>(e[i]);
    difference += (x - y) * (x - y);
    size += y * y;
  }
  if (difference == 0) return 0;
  return size == 0 ? HUGE_VAL : difference / size;
}

}  // namespace support
