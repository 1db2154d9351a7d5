// Matrices in the memory of an emulated device: NaN between the rows, no memory behind the last.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/core/view.hpp>
#include <span>
#include <vector>

#include "emulation/launch.hpp"
#include "oracle/attention.hpp"
#include "support/compare.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"

namespace cuda_test {

using ashlar::index_t;
using oracle::Vec;

/// Largest relative error of rounding to T.
template <class T>
inline constexpr double half_ulp = std::is_same_v<T, ashlar::bfloat16> ? 0x1p-8
                                   : std::is_same_v<T, ashlar::half>   ? 0x1p-11
                                                                       : 0x1p-24;

template <class T>
class Rows {
 public:
  Rows(index_t rows, index_t columns, index_t gap) : memory_({rows, columns}, gap) {}
  template <class U>
  Rows(index_t rows, index_t columns, index_t gap, const std::vector<U>& values)
      : Rows(rows, columns, gap) {
    memory_.assign(std::span<const U>(values));
  }
  ashlar::MatrixView<T> view() { return {memory_.data(), memory_.extents(), memory_.strides()}; }
  ashlar::MatrixView<const T> in() { return view(); }
  std::vector<T> values() const { return memory_.template values<std::vector<T>>(); }
  bool gaps_intact() const { return memory_.gaps_intact(); }

 private:
  support::PoisonedTensor<T, 2> memory_;
};

/// A vector that ends at a page without access.
template <class T>
class Channels {
 public:
  explicit Channels(const std::vector<T>& values)
      : memory_(static_cast<std::ptrdiff_t>(values.size())) {
    std::copy(values.begin(), values.end(), memory_.data());
  }
  ashlar::VectorView<const T> view() const {
    return {memory_.data(), {static_cast<index_t>(memory_.size())}};
  }

 private:
  support::PoisonedBuffer<T> memory_;
};

/// Numbers that T holds exactly.
template <class T>
std::vector<T> numbers(support::Random& random, index_t count, double scale = 1,
                       double offset = 0) {
  std::vector<T> v(static_cast<std::size_t>(count));
  for (T& x : v) x = static_cast<T>(static_cast<float>(random.normal(scale, offset)));
  return v;
}
template <class T>
Vec doubles(const std::vector<T>& v) {
  Vec d(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) d[i] = static_cast<double>(v[i]);
  return d;
}
/// factor |expected| + least, for each element.
inline Vec budget(const Vec& expected, double factor, double least) {
  Vec b(expected.size());
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = factor * std::abs(expected[i]) + least;
  return b;
}

}  // namespace cuda_test
