// Matrix products in double; includes no header of the library.
#pragma once

#include <cmath>

#include "attention.hpp"

namespace oracle {

/// y = x w^T + bias; x [M, In], w [Out, In], bias [Out] or empty, y [M, Out].
inline Vec linear(const Vec& x, const Vec& w, Index M, Index In, Index Out, const Vec& bias = {}) {
  Vec y(to_size(M * Out));
  for (Index m = 0; m < M; ++m)
    for (Index n = 0; n < Out; ++n) {
      double sum = 0;
      for (Index i = 0; i < In; ++i) sum += x[to_size(m * In + i)] * w[to_size(n * In + i)];
      y[to_size(m * Out + n)] = sum + (bias.empty() ? 0.0 : bias[to_size(n)]);
    }
  return y;
}

/// sum |x w|, the unit of an error budget of the product above.
inline Vec linear_magnitude(const Vec& x, const Vec& w, Index M, Index In, Index Out) {
  Vec ax(x), aw(w);
  for (double& a : ax) a = std::abs(a);
  for (double& a : aw) a = std::abs(a);
  return linear(ax, aw, M, In, Out);
}

/// w stored [In, Out] as [Out, In].
inline Vec transposed(const Vec& w, Index rows, Index columns) {
  Vec t(w.size());
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < columns; ++c) t[to_size(c * rows + r)] = w[to_size(r * columns + c)];
  return t;
}

}  // namespace oracle
