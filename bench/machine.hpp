// The machine that a benchmark runs on: its name, its threads, and its limits as they are now.
#pragma once

#include <benchmark/benchmark.h>

#include <ashlar/openmp.hpp>
#include <ashlar/simd.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "paired.hpp"

namespace bench {

using ashlar::index_t;

inline std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown CPU";
}
inline std::string compiler_name() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__);
#else
  return "g++ " + std::to_string(__GNUC__);
#endif
}
inline std::string instruction_set() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__SSE2__)
  return "SSE2";
#else
  return std::to_string(32 * ashlar::simd::lanes) + "-bit vectors";
#endif
}

inline ashlar::Executor executor(int threads) {
  return threads == 1 ? ashlar::Executor{} : ashlar::openmp_executor(threads);
}
/// One, and all there are.
inline std::vector<int> thread_counts() {
  const int all = omp_get_max_threads();
  return all == 1 ? std::vector{1} : std::vector{1, all};
}

/// Calls f(worker) for every worker of the executor, at the same time.
template <class F>
void on_every_thread(const ashlar::Executor& e, const F& f) {
  e.run(
      e.self, e.workers,
      [](void* argument, int worker) { (*static_cast<const F*>(argument))(worker); },
      const_cast<F*>(&f));
}

namespace detail {
using ashlar::simd::Vf;
inline constexpr index_t lanes = ashlar::simd::lanes;

/// Uses what a probe computed, so that no compiler drops it.
inline void keep(Vf v) {
  float x[lanes];
  ashlar::simd::store(x, v);
  benchmark::DoNotOptimize(x);
}
/// Twelve chains hide the latency of two FMA units.
ASHLAR_NOINLINE inline void multiply_add(index_t count) {
  Vf a[12];
  for (int i = 0; i < 12; ++i) a[i] = ashlar::simd::set1(static_cast<float>(i));
  const Vf x = ashlar::simd::set1(.5f), y = ashlar::simd::set1(1.f);
  for (index_t n = 0; n < count; ++n) ASHLAR_UNROLL
  for (Vf& v : a) {
    if constexpr (ashlar::has_fma)
      v = ashlar::simd::fma(v, x, y);
    else
      v = ashlar::simd::add(ashlar::simd::mul(v, x), y);
  }
  Vf sum = a[0];
  for (int i = 1; i < 12; ++i) sum = ashlar::simd::add(sum, a[i]);
  keep(sum);
}
/// Sums `count` floats at each of Streams places `distance` apart; count is a multiple of 8
/// vectors.
template <int Streams>
ASHLAR_NOINLINE void read(const float* p, index_t distance, index_t count) {
  constexpr index_t step = 8 / Streams;  // vectors of a stream at a time
  Vf a[8];
  for (Vf& v : a) v = ashlar::simd::set1(0.f);
  for (index_t n = 0; n < count; n += step * lanes) ASHLAR_UNROLL
  for (index_t i = 0; i < 8; ++i)
    a[i] =
        ashlar::simd::add(a[i], ashlar::simd::load(p + i / step * distance + n + i % step * lanes));
  for (int i = 1; i < 8; ++i) a[0] = ashlar::simd::add(a[0], a[i]);
  keep(a[0]);
}
}  // namespace detail

/// Flop/s of nothing but fused multiply-adds in registers, all threads at once, measured for about
/// the given time.
inline double fma_peak(const ashlar::Executor& e, double seconds) {
  constexpr double flops = 12 * 2 * static_cast<double>(detail::lanes), guess = 1e11;
  const auto count = static_cast<index_t>(seconds * guess / flops) + 1;
  const double taken = seconds_of(
      e.workers, [&] { on_every_thread(e, [count](int) { detail::multiply_add(count); }); });
  return static_cast<double>(count) * flops * e.workers / taken;
}

/// Bytes/s of reading memory that no cache holds: the better of one and four streams a thread.
class ReadProbe {
 public:
  ReadProbe() : data_(index_t{512} << 18) {}  // 512 MiB, far more than it reads at a time

  double operator()(const ashlar::Executor& e) { return std::max(read<1>(e), read<4>(e)); }

 private:
  template <int Streams>
  double read(const ashlar::Executor& e) {
    constexpr index_t part = index_t{48} << 18;  // floats, 48 MiB
    // Streams a large power of two apart fall on one memory bank, hence the odd length.
    const index_t own = part / e.workers;
    const index_t length = own / Streams / 1024 * 1024 - 17 * 1024;
    if (next_ + part > data_.size()) next_ = 0;
    const float* p = data_.data() + next_;
    next_ += part;
    const double taken = seconds_of(e.workers, [&] {
      on_every_thread(e, [&](int w) { detail::read<Streams>(p + w * own, length, length); });
    });
    return static_cast<double>(length) * Streams * 4 * e.workers / taken;
  }
  ashlar::Buffer<float> data_;
  index_t next_ = 0;
};

}  // namespace bench
