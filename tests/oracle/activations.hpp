// Activations in double, in forms without cancellation; includes no header of the library.
#pragma once

#include <algorithm>
#include <cmath>

#include "attention.hpp"

namespace oracle {

inline double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
inline double silu(double x) { return x * sigmoid(x); }
inline double gelu_erf(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
/// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
inline double gelu_tanh(double x) {
  return x * sigmoid(2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x));
}
inline double gelu_quick(double x) { return x * sigmoid(1.702 * x); }
inline double relu(double x) { return std::max(x, 0.0); }
inline double relu_squared(double x) { return relu(x) * relu(x); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// act(gate) * up, element by element.
inline Vec gated(const Vec& gate, const Vec& up, double (*act)(double)) {
  Vec y(gate.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = act(gate[i]) * up[i];
  return y;
}

/// (up + 1) g sigmoid(alpha g) with g = min(gate, limit), up within [-limit, limit] (gpt-oss).
inline Vec swiglu_clamped(const Vec& gate, const Vec& up, double limit = 7, double alpha = 1.702) {
  Vec y(gate.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double g = std::min(gate[i], limit), u = std::clamp(up[i], -limit, limit);
    y[i] = (u + 1) * g * sigmoid(alpha * g);
  }
  return y;
}

}  // namespace oracle
