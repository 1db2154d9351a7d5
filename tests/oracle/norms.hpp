// Norms of rows in double, written from their formulas; includes no header of the library.
#pragma once

#include <cmath>

#include "attention.hpp"

namespace oracle {

/// y = x / sqrt(mean(x^2) + eps) * gain, or * (1 + gain). x [M, D], gain [D] or empty.
inline Vec rms_norm(const Vec& x, Index M, Index D, double eps, const Vec& gain = {},
                    bool plus_one = false) {
  Vec y(x.size());
  for (Index m = 0; m < M; ++m) {
    const double* row = x.data() + m * D;
    double sum = 0;
    for (Index d = 0; d < D; ++d) sum += row[d] * row[d];
    const double root = std::sqrt(sum / static_cast<double>(D) + eps);
    for (Index d = 0; d < D; ++d) {
      const double g = gain.empty() ? 1.0 : gain[to_size(d)] + (plus_one ? 1.0 : 0.0);
      y[to_size(m * D + d)] = row[d] / root * g;
    }
  }
  return y;
}

/// y = (x - mean) / sqrt(variance + eps) * gain + bias. Both passes in long double: rows whose mean
/// dwarfs their spread lose nothing. gain and bias [D] or empty.
inline Vec layer_norm(const Vec& x, Index M, Index D, double eps, const Vec& gain = {},
                      const Vec& bias = {}, bool plus_one = false) {
  Vec y(x.size());
  for (Index m = 0; m < M; ++m) {
    const double* row = x.data() + m * D;
    long double mean = 0, variance = 0;
    for (Index d = 0; d < D; ++d) mean += row[d];
    mean /= static_cast<long double>(D);
    for (Index d = 0; d < D; ++d) variance += (row[d] - mean) * (row[d] - mean);
    variance /= static_cast<long double>(D);
    for (Index d = 0; d < D; ++d) {
      const double g = gain.empty() ? 1.0 : gain[to_size(d)] + (plus_one ? 1.0 : 0.0);
      const double normed = static_cast<double>((row[d] - mean) / std::sqrt(variance + eps));
      y[to_size(m * D + d)] = normed * g + (bias.empty() ? 0.0 : bias[to_size(d)]);
    }
  }
  return y;
}

}  // namespace oracle
