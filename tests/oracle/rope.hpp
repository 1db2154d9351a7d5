// Rotary positions with double frequencies and angles; includes no header of the library.
#pragma once

#include <algorithm>
#include <cmath>

#include "attention.hpp"

namespace oracle {

enum class Scaling { none, linear, dynamic, yarn, llama3, longrope, proportional };

/// Rule that stretches the frequencies. `original` is the trained length, `length` that of the
/// call.
struct RopeScaling {
  Scaling kind = Scaling::none;
  double factor = 1;
  double original = 0, length = 0, maximum = 0;
  double low = 1, high = 4;                                        // llama3
  double beta_fast = 32, beta_slow = 1;                            // yarn
  bool truncate = true;                                            // yarn: round the ramp outwards
  std::optional<double> attention_factor, mscale, mscale_all_dim;  // yarn
  Vec short_factors, long_factors;                                 // longrope
  double fraction = 1;                                             // proportional
};

struct RopeTable {
  Vec inverse_frequencies;      // one a pair
  double attention_factor = 1;  // multiplies cos and sin
};

/// Frequencies theta^(-2i/r) of r rotated of H dimensions under a scaling rule.
inline RopeTable rope_table(double theta, Index r, Index H, const RopeScaling& s = {}) {
  const double pi = std::acos(-1.0);
  RopeTable t;
  if (s.kind == Scaling::proportional) {
    const Index live = static_cast<Index>(s.fraction * static_cast<double>(H)) / 2;
    for (Index i = 0; i < H / 2; ++i)
      t.inverse_frequencies.push_back(
          i < live ? std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(H)) : 0.0);
    return t;
  }
  const auto width = static_cast<double>(r);
  double base = theta;
  if (s.kind == Scaling::dynamic) {
    const double ratio = std::max(s.length, s.original) / s.original;
    base = theta * std::pow(s.factor * ratio - (s.factor - 1), width / (width - 2));
  }
  double first = 0, last = 0;
  if (s.kind == Scaling::yarn) {
    const auto dimension = [&](double turns) {
      return width * std::log(s.original / (turns * 2 * pi)) / (2 * std::log(theta));
    };
    first = dimension(s.beta_fast);
    last = dimension(s.beta_slow);
    if (s.truncate) {
      first = std::floor(first);
      last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, width - 1);
    const auto mscale = [&](double m) {
      return s.factor <= 1 ? 1.0 : 0.1 * m * std::log(s.factor) + 1;
    };
    t.attention_factor = s.attention_factor ? *s.attention_factor
                         : s.mscale && s.mscale_all_dim
                             ? mscale(*s.mscale) / mscale(*s.mscale_all_dim)
                             : mscale(1);
  }
  if (s.kind == Scaling::longrope) {
    const double stretch = s.maximum / s.original;
    t.attention_factor =
        stretch <= 1 ? 1.0 : std::sqrt(1 + std::log(stretch) / std::log(s.original));
  }
  for (Index i = 0; i < r / 2; ++i) {
    const double f = std::pow(base, -2.0 * static_cast<double>(i) / width);
    double scaled = f;
    if (s.kind == Scaling::linear) scaled = f / s.factor;
    if (s.kind == Scaling::yarn) {
      const double ramp =
          std::clamp((static_cast<double>(i) - first) / std::max(last - first, 1e-3), 0.0, 1.0);
      scaled = f / s.factor * ramp + f * (1 - ramp);
    }
    if (s.kind == Scaling::llama3) {
      const double wavelength = 2 * pi / f;
      if (wavelength > s.original / s.low) {
        scaled = f / s.factor;
      } else if (wavelength >= s.original / s.high) {
        const double smooth = (s.original / wavelength - s.low) / (s.high - s.low);
        scaled = (1 - smooth) * f / s.factor + smooth * f;
      }
    }
    if (s.kind == Scaling::longrope)
      scaled = f / (s.length > s.original ? s.long_factors : s.short_factors)[to_size(i)];
    t.inverse_frequencies.push_back(scaled);
  }
  return t;
}

/// Rotates x [M, heads, H]; row m is at positions[m]. Pairs (i, i + r/2), or (2i, 2i + 1) when
/// interleaved; r = twice the number of frequencies, the dimensions above are copied.
inline Vec rope(const Vec& x, const std::vector<Index>& positions, Index heads, Index H,
                const RopeTable& t, bool interleaved = false) {
  Vec y = x;
  const auto pairs = static_cast<Index>(t.inverse_frequencies.size());
  for (std::size_t m = 0; m < positions.size(); ++m)
    for (Index n = 0; n < heads; ++n)
      for (Index i = 0; i < pairs; ++i) {
        const double angle = static_cast<double>(positions[m]) * t.inverse_frequencies[to_size(i)];
        const double c = t.attention_factor * std::cos(angle),
                     s = t.attention_factor * std::sin(angle);
        const Index start = (static_cast<Index>(m) * heads + n) * H;
        const std::size_t a = to_size(start + (interleaved ? 2 * i : i));
        const std::size_t b = to_size(start + (interleaved ? 2 * i + 1 : i + pairs));
        y[a] = x[a] * c - x[b] * s;
        y[b] = x[b] * c + x[a] * s;
      }
  return y;
}

}  // namespace oracle
