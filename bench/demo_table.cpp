// A table of naive against tiled attention, in a few seconds.
#include "attention_problem.hpp"

int main() {
  using namespace bench;
  std::printf("Causal attention, 4 heads of 64, one thread, on %s (%s, %s)\n", cpu_name().c_str(),
              compiler_name().c_str(), instruction_set().c_str());
  std::printf("\n%8s  %21s  %21s  %6s  %8s  %22s\n", "", "naive", "tiled", "", "of FMA",
              "extra memory, KiB");
  std::printf("%8s  %10s %10s  %10s %10s  %6s  %8s  %11s %10s\n", "tokens", "ms", "GFLOP/s", "ms",
              "GFLOP/s", "ratio", "peak", "naive", "tiled");
  for (index_t tokens = 512; tokens <= 4096; tokens *= 2) {
    AttentionProblem problem(64, tokens, 4, true);
    ashlar::Context<Simd> naive, tiled;
    const double naive_bytes = problem.check(Way::naive, naive);
    const double tiled_bytes = problem.check(Way::tiled, tiled);
    const auto rate = [&](Way way, ashlar::Context<Simd>& ctx) {
      return problem.flops() / seconds_of(1, [&] { problem.run(way, ctx); });
    };
    Rounds<3> rounds;
    const double end = wall_seconds() + 1;
    while (rounds.count() < 3 || (wall_seconds() < end && rounds.count() < 100)) {
      const double peak = fma_peak({}, 0.004);
      rounds.add({rate(Way::naive, naive), rate(Way::tiled, tiled), peak});
    }
    const auto ms = [&](std::size_t i) { return 1e3 * problem.flops() / rounds.rate(i); };
    std::printf("%8td  %10.2f %10.1f  %10.2f %10.1f  %5.1fx  %6.0f %%  %11.0f %10.0f\n", tokens,
                ms(0), rounds.rate(0) * 1e-9, ms(1), rounds.rate(1) * 1e-9, rounds.ratio(1, 0),
                100 * rounds.ratio(1, 2), naive_bytes / 1024, tiled_bytes / 1024);
  }
  std::printf(
      "\nBoth give the same result. Causal work is counted half; medians of alternating runs.\n");
}
