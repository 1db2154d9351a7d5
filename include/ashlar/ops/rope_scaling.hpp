// Rules that stretch rotary frequencies to contexts longer than the trained one.
#pragma once

#include <algorithm>
#include <ashlar/core/shared_list.hpp>
#include <ashlar/ops/rope_rule.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Values for RopeRule::scaling.
namespace rope_scaling {

/// f / factor. Source: Chen et al. 2023, position interpolation.
struct Linear {
  double factor = 1;
  bool operator==(const Linear&) const = default;
  void apply(RopeFrequencies& f, double, index_t, index_t) const {
    for (double& x : f.inverse) x /= factor;
  }
};

/// theta (factor L / L0 - (factor - 1))^(r / (r - 2)) with L = max(length, L0), "NTK by length".
/// The angles depend on the length of the call: chunks of a prompt are not the whole prompt's.
struct Dynamic {
  static constexpr RopeLength depends_on = RopeLength::call;
  double factor = 1, original = 0;
  bool operator==(const Dynamic&) const = default;
  void apply(RopeFrequencies& f, double theta, index_t width, index_t length) const {
    const double r = static_cast<double>(width);
    const double ratio = (std::max)(static_cast<double>(length), original) / original;
    const double base = theta * std::pow(factor * ratio - (factor - 1), r / (r - 2));
    f = rope_frequencies(base, 2 * static_cast<index_t>(f.inverse.size()), width);
  }
};

/// A ramp from f / factor to f over the pairs between beta_slow and beta_fast turns in the original
/// context; magnitude multiplies cosine and sine. Source: Peng et al. 2023.
struct Yarn {
  double factor = 1, original = 0;
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;  // round the ramp's ends outwards
  double magnitude = 1;
  bool operator==(const Yarn&) const = default;
  /// 0.1 mscale ln(factor) + 1, the usual magnitude with mscale 1.
  static double usual_magnitude(double factor, double mscale = 1) {
    return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1;
  }
  void apply(RopeFrequencies& f, double theta, index_t width, index_t) const {
    const double r = static_cast<double>(width), two_pi = 6.283185307179586;
    const auto pair_of = [&](double turns) {
      return r * std::log(original / (turns * two_pi)) / (2 * std::log(theta));
    };
    double first = pair_of(beta_fast), last = pair_of(beta_slow);
    if (truncate) {
      first = std::floor(first);
      last = std::ceil(last);
    }
    first = (std::max)(first, 0.0);
    last = (std::min)(last, r - 1);
    for (std::size_t i = 0; i < f.inverse.size(); ++i) {
      const double span = last == first ? 1e-3 : last - first;
      const double at = (static_cast<double>(i) - first) / span;
      const double ramp = (std::clamp)(at, 0.0, 1.0);
      f.inverse[i] = f.inverse[i] / factor * ramp + f.inverse[i] * (1 - ramp);
    }
    f.magnitude = magnitude;
  }
};

/// Long waves / factor, short ones as they are, a blend between. Source: Llama 3.1 (2024).
struct Llama3 {
  double factor = 1, original = 0, low = 1, high = 4;
  bool operator==(const Llama3&) const = default;
  void apply(RopeFrequencies& f, double, index_t, index_t) const {
    for (double& x : f.inverse) {
      const double turns = original * x / 6.283185307179586;  // within the original context
      if (turns > high) continue;
      const double smooth = turns < low ? 0.0 : (turns - low) / (high - low);
      x = (1 - smooth) * x / factor + smooth * x;
    }
  }
};

/// f / divisor with a divisor a pair.
inline void divide(RopeFrequencies& f, const SharedList<double>& divisors) {
  if (divisors.size() != f.inverse.size())
    fail<ShapeError>("rope: ", divisors.size(), " divisors for ", f.inverse.size(), " pairs");
  for (std::size_t i = 0; i < divisors.size(); ++i) f.inverse[i] /= divisors[i];
}

/// f / divisor with a divisor a pair, as GGUF files store in rope_freqs.weight.
struct Divisors {
  SharedList<double> divisors;
  bool operator==(const Divisors&) const = default;
  void apply(RopeFrequencies& f, double, index_t, index_t) const { divide(f, divisors); }
};

/// f / factor with a factor a pair, the long ones where the length is beyond the trained context;
/// magnitude multiplies cosine and sine in both cases. The length is what the sequence was made
/// for: keys turned by one set of factors do not fit queries turned by the other. Source: Ding et
/// al. 2024, LongRoPE; Phi-3.
struct LongRope {
  static constexpr RopeLength depends_on = RopeLength::sequence;
  SharedList<double> short_factors, long_factors;
  double original = 0;
  double magnitude = 1;
  bool operator==(const LongRope&) const = default;
  /// sqrt(1 + ln(stretch) / ln(original)) for a context stretched to `longest`; 1 if it is not.
  static double usual_magnitude(double original, double longest) {
    const double stretch = longest / original;
    return stretch <= 1 ? 1.0 : std::sqrt(1 + std::log(stretch) / std::log(original));
  }
  void apply(RopeFrequencies& f, double, index_t, index_t length) const {
    divide(f, static_cast<double>(length) > original ? long_factors : short_factors);
    f.magnitude = magnitude;
  }
};

/// The first `pairs` pairs turn as usual (by f / factor), with the exponent over the full width;
/// the others stand still. Other than a smaller width, which pairs other elements and divides by
/// less. Source: Gemma 4 (p-RoPE).
struct Proportional {
  index_t pairs = 0;
  double factor = 1;
  bool operator==(const Proportional&) const = default;
  void apply(RopeFrequencies& f, double, index_t, index_t) const {
    for (double& x : f.inverse) x /= factor;
    const auto all = static_cast<index_t>(f.inverse.size());
    if (pairs < 0 || pairs > all)
      fail<ValueError>("rope: ", pairs, " pairs turn, expected 0 to ", all);
    std::fill(f.inverse.begin() + pairs, f.inverse.end(), 0.0);
  }
};

/// Sections of pairs that each follow a position of their own: time, height, width. Tokens of a
/// text have three equal positions, so nothing changes; other positions are not supported. Source:
/// Wang et al. 2024, Qwen2-VL (M-RoPE).
struct Sections {
  SharedList<index_t> sections;
  bool operator==(const Sections&) const = default;
  void apply(RopeFrequencies& f, double, index_t, index_t) const {
    const auto all = static_cast<index_t>(f.inverse.size());
    index_t sum = 0;
    for (const index_t s : sections) {
      if (s < 0 || s > all)
        fail<ValueError>("rope: a section has ", s, " pairs, expected 0 to ", all);
      sum += s;
    }
    if (sum != all) fail<ShapeError>("rope: sections of ", sum, " pairs together, expected ", all);
  }
};

}  // namespace rope_scaling

}  // namespace ashlar::inline ASHLAR_ABI
