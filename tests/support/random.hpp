// Random inputs from a seed that a failing test prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace support {

/// The seed of this run: ASHLAR_TEST_SEED, or a fixed one.
inline std::uint64_t base_seed() {
  const char* text = std::getenv("ASHLAR_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20240501u;
}

/// Reproducible numbers. Put SCOPED_TRACE(random.seed()) in a test so that a failure names the
/// seed.
class Random {
 public:
  explicit Random(std::uint64_t salt) : seed_(base_seed() * 1000003u + salt), engine_(seed_) {}

  std::uint64_t seed() const { return seed_; }

  /// Inclusive range.
  std::ptrdiff_t integer(std::ptrdiff_t low, std::ptrdiff_t high) {
    const auto range = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::ptrdiff_t>(engine_() % range);
  }
  /// [0, 1), 53 bits; the same on every standard library.
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  bool chance(double probability) { return unit() < probability; }
  /// Near normal (sum of twelve uniforms), bounded by 6.
  double normal(double scale = 1, double offset = 0) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += unit();
    return offset + scale * sum;
  }

  /// Values that float holds exactly, whatever T is (float or double).
  template <class T>
  std::vector<T> normals(std::ptrdiff_t count, double scale = 1, double offset = 0) {
    std::vector<T> v(static_cast<std::size_t>(count));
    for (T& x : v) x = static_cast<T>(static_cast<float>(normal(scale, offset)));
    return v;
  }
  std::vector<std::uint8_t> bytes(std::ptrdiff_t count) {
    std::vector<std::uint8_t> v(static_cast<std::size_t>(count));
    for (std::uint8_t& x : v) x = static_cast<std::uint8_t>(engine_() & 255u);
    return v;
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace support
