// How a benchmark is measured, checked and printed.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "machine.hpp"

namespace bench {

/// Wall time that each benchmark may take, at least three rounds: --seconds=.
inline double seconds_each = 0.5;

inline void fill_random(float* p, index_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  for (index_t i = 0; i < n; ++i) p[i] = normal(engine);
}

/// Ends the program unless two results agree within `tolerance` times the largest expected value.
inline void expect_agree(const std::string& what, const float* got, const float* expected,
                         index_t n, double tolerance) {
  double largest = 0, worst = 0;
  index_t at = 0;
  for (index_t i = 0; i < n; ++i) {
    const double error = std::abs(double{got[i]} - double{expected[i]});
    largest = std::max(largest, std::abs(double{expected[i]}));
    if (!(error <= worst)) worst = error, at = i;  // NaN counts as an error
    if (std::isnan(error)) break;
  }
  if (worst <= tolerance * largest) return;
  std::fprintf(stderr,
               "%s: results differ, nothing is measured: element %td is %g, expected %g "
               "(error %g, largest value %g, tolerance %g)\n",
               what.c_str(), at, double{got[at]}, double{expected[at]}, worst, largest, tolerance);
  std::exit(1);
}

/// Rounds of probe(seconds), work(), probe(seconds). Rate 0 is the work's (`amount` a call), rate 1
/// what the probe returned.
template <class Work, class Probe>
Rounds<2> measure(benchmark::State& state, int threads, double amount, const Work& work,
                  const Probe& probe) {
  constexpr double shortest = 0.004;
  constexpr std::size_t most_rounds = 200;
  const double once = seconds_of(threads, work);
  const int repeat = once < shortest ? static_cast<int>(shortest / once) + 1 : 1;
  const double probed = std::clamp(0.05 * repeat * once, 0.002, 0.05);
  Rounds<2> rounds;
  const auto round = [&] {
    const double before = probe(probed);
    const double taken = seconds_of(threads, [&] {
      for (int i = 0; i < repeat; ++i) work();
    });
    rounds.add({amount * repeat / taken, (before + probe(probed)) / 2});
  };
  for (auto _ : state) {
    const double end = wall_seconds() + seconds_each;
    while (rounds.count() < 3 || (wall_seconds() < end && rounds.count() < most_rounds)) round();
    state.SetIterationTime(amount / rounds.rate(0));
  }
  return rounds;
}

template <class F>
void add(const std::string& name, const F& f) {
  benchmark::RegisterBenchmark(name.c_str(), f)
      ->Iterations(1)  // measure() repeats by itself
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

/// A table with the unit of every number. Counters named "of .." are shares, ".. bytes" sizes.
class TableReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override {
    std::printf("%s, %s, %s; medians of paired rounds, one thread by its CPU time\n",
                cpu_name().c_str(), compiler_name().c_str(), instruction_set().c_str());
    return true;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      std::string head = "                                                    time";
      for (const auto& [name, counter] : run.counters) head += column(name);
      if (head != head_) std::printf("%s\n", head.c_str());
      head_ = head;
      std::printf("%-44s%12s", run.run_name.function_name.c_str(),
                  time(run.GetAdjustedRealTime() * 1e-6).c_str());
      for (const auto& [name, counter] : run.counters)
        std::printf("%s", column(value(name, counter.value)).c_str());
      std::printf("\n");
      std::fflush(stdout);
    }
  }

 private:
  static std::string column(const std::string& text) {
    constexpr std::size_t width = 14;
    return std::string(text.size() < width ? width - text.size() : 1, ' ') + text;
  }
  static std::string number(double x, const char* unit) {
    char text[32];
    std::snprintf(text, sizeof text, x < 10 ? "%.2f%s" : x < 100 ? "%.1f%s" : "%.0f%s", x, unit);
    return text;
  }
  static std::string time(double s) {
    return s < 1e-3 ? number(s * 1e6, " us") : s < 1 ? number(s * 1e3, " ms") : number(s, " s");
  }
  static std::string value(const std::string& name, double x) {
    if (name.starts_with("of ")) return number(100 * x, " %");
    if (name.ends_with(" bytes"))
      return x < 1 << 20 ? number(x / 1024, " KiB") : number(x / (1 << 20), " MiB");
    return number(x, "");
  }
  std::string head_;
};

/// main() of a benchmark program, after its benchmarks are registered.
inline int run_benchmarks(int argc, char** argv, double seconds = 0.5) {
  seconds_each = seconds;
  benchmark::Initialize(&argc, argv);
  int rest = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--seconds="))
      seconds_each = std::atof(argv[i] + std::strlen("--seconds="));
    else
      argv[rest++] = argv[i];
  }
  if (benchmark::ReportUnrecognizedArguments(rest, argv)) return 2;
  benchmark::AddCustomContext("cpu", cpu_name());
  benchmark::AddCustomContext("compiler", compiler_name());
  benchmark::AddCustomContext("instruction_set", instruction_set());
  TableReporter table;
  benchmark::RunSpecifiedBenchmarks(&table);
  return 0;
}

}  // namespace bench
