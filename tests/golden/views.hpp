// Test memory as the library's views, and row operations on contiguous, strided and shared memory.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/core/view.hpp>
#include <vector>

#include "../support/compare.hpp"
#include "../support/poison.hpp"

namespace golden {

using ashlar::index_t;

template <class T, int Rank>
ashlar::TensorView<T, Rank> view(support::PoisonedTensor<T, Rank>& t) {
  return {t.data(), t.extents(), t.strides()};
}
template <class T, int Rank>
ashlar::TensorView<const T, Rank> const_view(support::PoisonedTensor<T, Rank>& t) {
  return view(t);
}
/// A vector as a contiguous view; an empty one has no memory.
template <class T>
ashlar::VectorView<const T> vector_view(const std::vector<T>& v) {
  return {v.empty() ? nullptr : v.data(), {static_cast<index_t>(v.size())}};
}

/// Calls f(x, y) for rows x [M, D] on memory that ends at a guard page; returns y. The same call on
/// rows with NaN between them, and with y = x, must give the same bits and leave the gaps alone.
template <class T, class F>
std::vector<T> run_rows(const std::vector<T>& values, index_t M, index_t D, F&& f) {
  std::vector<T> result;
  for (const index_t gap : {index_t{0}, index_t{3}}) {
    support::PoisonedTensor<T, 2> x({M, D}, gap), y({M, D}, 2 * gap), same({M, D}, gap);
    x.assign(std::span<const T>(values));
    same.assign(std::span<const T>(values));
    f(const_view(x), view(y));
    f(const_view(same), view(same));
    const auto got = y.template values<std::vector<T>>();
    if (gap == 0) result = got;
    EXPECT_TRUE(support::same_bits(got, result)) << "gap " << gap;
    EXPECT_TRUE(support::same_bits(same.template values<std::vector<T>>(), result))
        << "in place, gap " << gap;
    EXPECT_TRUE(x.gaps_intact() && y.gaps_intact() && same.gaps_intact());
    EXPECT_TRUE(support::same_bits(x.template values<std::vector<T>>(), values))
        << "the input was written to";
  }
  return result;
}

}  // namespace golden
