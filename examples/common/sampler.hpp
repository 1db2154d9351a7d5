// Picks the next token from logits.
#pragma once

#include <algorithm>
#include <ashlar/core/error.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ashlar::examples {

/// SplitMix64. The distributions of the standard library differ between implementations; this and
/// its uniform() do not.
///
/// Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// The upper 53 bits as a number in [0, 1).
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

struct SamplerOptions {
  float temperature = 0.8f;  ///< 0 takes the largest logit, the first one on ties
  int top_k = 40;            ///< keep the k most probable tokens; 0 keeps all
  float top_p = 0.95f;       ///< keep the shortest list whose probability reaches p; 1 keeps all
  float min_p = 0.05f;       ///< keep tokens of at least p times the best probability; 0 keeps all
  std::uint64_t seed = 0;
};

/// A token that may be drawn.
struct Candidate {
  int token;
  double probability;
};

/// Draws tokens from softmax(logits / temperature), cut by top-k, then top-p, then min-p.
///
/// Each cut sees the probabilities that the one before it left, scaled to a sum of 1. Equal logits
/// rank by token. A logit of -infinity forbids its token.
class Sampler {
 public:
  /// Throws: ValueError for an option outside its range.
  explicit Sampler(SamplerOptions options = {}) : options_(options), random_(options.seed) {
    const auto unit = [](float p) { return p >= 0 && p <= 1; };
    if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
      fail<ValueError>("temperature is ", options.temperature, ", expected a finite number >= 0");
    }
    if (options.top_k < 0) fail<ValueError>("top_k is ", options.top_k, ", expected 0 or more");
    if (!unit(options.top_p) || options.top_p == 0) {
      fail<ValueError>("top_p is ", options.top_p, ", expected a number in (0, 1]");
    }
    if (!unit(options.min_p)) {
      fail<ValueError>("min_p is ", options.min_p, ", expected a number in [0, 1]");
    }
  }

  /// The next token. Takes one number from the generator unless the temperature is 0.
  ///
  /// Shapes: logits [V]. Cost: V plus the sort of what top-k leaves.
  /// Throws: as candidates().
  int operator()(std::span<const float> logits) {
    const std::span<const Candidate> kept = candidates(logits);
    if (options_.temperature == 0) return kept.front().token;
    double rest = random_.uniform();
    for (const Candidate& candidate : kept) {
      rest -= candidate.probability;
      if (rest < 0) return candidate.token;
    }
    return kept.back().token;  // the sum was a rounding error below the drawn number
  }

  /// The tokens that may be drawn, the most probable first. Valid until the next call.
  ///
  /// Shapes: logits [V].
  /// Throws: ValueError for no logits, for NaN or +infinity, and when all are -infinity.
  std::span<const Candidate> candidates(std::span<const float> logits) {
    const std::size_t best = check(logits);
    kept_.clear();
    if (options_.temperature == 0) {
      kept_.push_back({static_cast<int>(best), 1});
      return kept_;
    }
    keep_top_k(logits);
    const double top = logits[best];
    double total = 0;
    for (Candidate& candidate : kept_) {
      const double logit = logits[static_cast<std::size_t>(candidate.token)];
      candidate.probability = std::exp((logit - top) / double{options_.temperature});
      total += candidate.probability;
    }
    keep_top_p(total);
    keep_min_p();
    total = 0;
    for (const Candidate& candidate : kept_) total += candidate.probability;
    for (Candidate& candidate : kept_) candidate.probability /= total;
    return kept_;
  }

 private:
  /// Index of the first largest logit.
  static std::size_t check(std::span<const float> logits) {
    constexpr float infinity = (std::numeric_limits<float>::infinity)();
    if (logits.empty()) fail<ValueError>("got no logits to sample from");
    std::size_t best = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (std::isnan(logits[i]) || logits[i] == infinity) {
        fail<ValueError>("logit ", i, " is ", logits[i], ", expected a finite number or -infinity");
      }
      if (logits[i] > logits[best]) best = i;
    }
    if (logits[best] == -infinity) {
      fail<ValueError>("all ", logits.size(), " logits are -infinity, no token is left");
    }
    return best;
  }

  /// Fills kept_; the probabilities are logits still.
  void keep_top_k(std::span<const float> logits) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (!std::isinf(logits[i])) kept_.push_back({static_cast<int>(i), logits[i]});
    }
    const auto better = [](const Candidate& a, const Candidate& b) {
      return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
    };
    const std::size_t wanted = static_cast<std::size_t>(options_.top_k);
    const std::size_t count = wanted == 0 ? kept_.size() : (std::min)(wanted, kept_.size());
    const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(count);
    std::partial_sort(kept_.begin(), end, kept_.end(), better);
    kept_.erase(end, kept_.end());
  }

  void keep_top_p(double total) {
    if (options_.top_p == 1) return;  // rounding of the sum must not cut the tail
    double sum = 0;
    std::size_t count = 0;
    while (count < kept_.size() && sum < double{options_.top_p} * total) {
      sum += kept_[count++].probability;
    }
    kept_.resize(count);
  }

  void keep_min_p() {
    // Not even min_p = 0 keeps a token whose probability underflows.
    const double least = (std::max)(double{options_.min_p} * kept_.front().probability,
                                    (std::numeric_limits<double>::min)());
    while (kept_.back().probability < least) kept_.pop_back();
  }

  SamplerOptions options_;
  SplitMix64 random_;
  std::vector<Candidate> kept_;
};

}  // namespace ashlar::examples
