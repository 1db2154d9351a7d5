// Softmax and log-sum-exp of rows in double; includes no header of the library.
#pragma once

#include <cmath>
#include <limits>

#include "attention.hpp"

namespace oracle {

/// ln sum exp(x); -inf for no or only -inf entries.
inline double log_sum_exp(const double* x, Index n) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (Index i = 0; i < n; ++i) top = std::max(top, x[i]);
  if (std::isinf(top)) return top;
  for (Index i = 0; i < n; ++i) sum += std::exp(x[i] - top);
  return top + std::log(sum);
}

/// exp(x - lse) along rows of x [M, D]; a row of only -inf gives zeros.
inline Vec softmax(const Vec& x, Index M, Index D) {
  Vec y(x.size());
  for (Index m = 0; m < M; ++m) {
    const double* row = x.data() + m * D;
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (Index i = 0; i < D; ++i) top = std::max(top, row[i]);
    if (std::isinf(top)) continue;
    for (Index i = 0; i < D; ++i) sum += std::exp(row[i] - top);
    for (Index i = 0; i < D; ++i) y[to_size(m * D + i)] = std::exp(row[i] - top) / sum;
  }
  return y;
}

}  // namespace oracle
