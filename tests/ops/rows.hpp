// What the tests of row ops share: backends, matrices in strided memory with NaN in the gaps,
// threads.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/simd.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "oracle/attention.hpp"
#include "support/compare.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"

namespace rows {

using namespace ashlar;
using Floats = std::vector<float>;
using oracle::Vec;

/// A test of an op that runs on every backend whose row ops are its own.
template <class B>
struct Op : testing::Test {
  Context<B> ctx;
};
using Backends = testing::Types<backend::ScalarCpu, backend::SimdCpu>;

/// Largest relative error of rounding to T.
template <class T>
inline constexpr double rounding = std::is_same_v<T, double>     ? 0x1p-53
                                   : std::is_same_v<T, float>    ? 0x1p-24
                                   : std::is_same_v<T, bfloat16> ? 0x1p-8
                                                                 : 0x1p-11;
/// Widths with every kind of tail.
inline constexpr index_t widths[] = {1,  2,  3,  7,   15,  16,  17,  31,  33,
                                     63, 64, 65, 127, 128, 255, 576, 1000};

/// Workers as threads of the test itself, made for each call.
inline Executor threads(int workers) {
  return {[](void*, int count, Executor::Task task, void* argument) {
            std::vector<std::thread> pool;
            for (int w = 1; w < count; ++w) pool.emplace_back(task, argument, w);
            task(argument, 0);
            for (std::thread& t : pool) t.join();
          },
          nullptr, workers};
}

/// Rows `gap` elements apart that end at a page without access.
template <class T>
class Matrix {
 public:
  Matrix(index_t rows, index_t columns, index_t gap = 3) : memory_({rows, columns}, gap) {}
  template <class U>
  Matrix(index_t rows, index_t columns, const std::vector<U>& values, index_t gap = 3)
      : Matrix(rows, columns, gap) {
    memory_.assign(std::span<const U>(values));
  }
  MatrixView<T> view() { return {memory_.data(), memory_.extents(), memory_.strides()}; }
  MatrixView<const T> in() { return view(); }
  std::vector<T> values() const { return memory_.template values<std::vector<T>>(); }
  bool gaps_intact() const { return memory_.gaps_intact(); }

 private:
  support::PoisonedTensor<T, 2> memory_;
};

template <class T>
VectorView<const T> vector(const std::vector<T>& v) {
  return {v.data(), {static_cast<index_t>(v.size())}};
}
template <class T>
Vec doubles(const std::vector<T>& v) {
  return Vec(v.begin(), v.end());
}

/// The message of the E that f throws; "" if it throws nothing or something else.
template <class E, class F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (...) {
  }
  return "";
}

}  // namespace rows
