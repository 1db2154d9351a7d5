// Paired measurements. A machine may be shared and its clock may change, so what is compared is
// measured in turns, A, B, A, B, .., and a ratio is the median of the rounds' ratios.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <vector>

namespace bench {

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// CPU time of the calling thread: what other programs take of its core does not count.
inline double thread_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  std::timespec t{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0)
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
#endif
  return wall_seconds();
}
/// Seconds that f takes: CPU time where one thread does all the work, else wall time.
template <class F>
double seconds_of(int threads, const F& f) {
  const auto now = threads == 1 ? thread_seconds : wall_seconds;
  const double start = now();
  f();
  return std::max(now() - start, 1e-9);
}

inline double median(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

/// The rates (amount of work a second) of N things, measured in turns.
template <std::size_t N>
class Rounds {
 public:
  void add(const std::array<double, N>& rates) { rounds_.push_back(rates); }
  std::size_t count() const { return rounds_.size(); }

  double rate(std::size_t i) const {
    return over_rounds([i](const auto& r) { return r[i]; });
  }
  /// How many times as fast as j i is.
  double ratio(std::size_t i, std::size_t j) const {
    return over_rounds([i, j](const auto& r) { return r[i] / r[j]; });
  }

 private:
  template <class F>
  double over_rounds(const F& f) const {
    std::vector<double> values;
    for (const auto& r : rounds_) values.push_back(f(r));
    return median(values);
  }
  std::vector<std::array<double, N>> rounds_;
};

}  // namespace bench
