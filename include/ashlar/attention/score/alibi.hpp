// Alibi: a bias that falls linearly with distance, one slope a head.
#pragma once

#include <ashlar/attention/score/none.hpp>
#include <ashlar/core/math.hpp>
#include <ashlar/core/view.hpp>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// s + slope[h] * (k - q). Source: Press et al. 2022, ALiBi. The slopes stay the caller's.
class Alibi {
 public:
  constexpr Alibi() = default;
  explicit Alibi(VectorView<const float> slopes) : slopes_(slopes.data()) {}

  template <class V, class P>
  ASHLAR_HD V operator()(V s, index_t, index_t h, P q, P k) const {
    return math::Ops<V>::fma(V(slopes_[h]), V(k - q), s);
  }

 private:
  const float* slopes_ = nullptr;
};

/// Slopes of n heads: 2^(-8 i / n), i = 1 .. n, for a power of two; otherwise those of the next
/// lower power p, then every other one of 2 p (BLOOM's order). Throws ValueError unless heads >= 1.
inline std::vector<float> alibi_slopes(index_t heads) {
  if (heads < 1) fail<ValueError>("alibi_slopes: heads is ", heads, ", expected at least 1");
  index_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<float> slopes;
  const auto add = [&](index_t i, index_t n) {
    slopes.push_back(
        static_cast<float>(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(n))));
  };
  for (index_t i = 1; i <= power; ++i) add(i, power);
  for (index_t i = 1; static_cast<index_t>(slopes.size()) < heads; i += 2) add(i, 2 * power);
  return slopes;
}

}  // namespace ashlar::inline ASHLAR_ABI
