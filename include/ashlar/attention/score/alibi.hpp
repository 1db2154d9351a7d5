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

/// Orders of slopes where the number of heads is no power of two.
enum class AlibiOrder {
  bloom,  // those of the next lower power p, then 1st, 3rd, .. of 2 p
  mpt     // of the next higher power the 2nd, 4th, .., then 1st, 3rd, ..
};

/// Slopes of n heads: 2^(-maximum i / n), i = 1 .. n, for a power of two, else n of a power nearby.
/// Throws ValueError unless heads >= 1 and maximum > 0.
inline std::vector<float> alibi_slopes(index_t heads, AlibiOrder order = AlibiOrder::bloom,
                                       double maximum = 8) {
  if (heads < 1) fail<ValueError>("alibi_slopes: heads is ", heads, ", expected at least 1");
  if (!(maximum > 0)) fail<ValueError>("alibi_slopes: maximum is ", maximum, ", expected above 0");
  index_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<float> slopes;
  const auto add = [&](index_t first, index_t step, index_t n) {
    for (index_t i = first; i <= n && static_cast<index_t>(slopes.size()) < heads; i += step)
      slopes.push_back(static_cast<float>(
          std::exp2(-maximum * static_cast<double>(i) / static_cast<double>(n))));
  };
  if (power == heads || order == AlibiOrder::bloom) add(1, 1, power);
  if (order == AlibiOrder::mpt) add(2, 2, 2 * power);
  add(1, 2, 2 * power);
  return slopes;
}

}  // namespace ashlar::inline ASHLAR_ABI
