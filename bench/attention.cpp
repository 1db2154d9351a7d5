// Attention of a whole prompt: tiled against naive, on SIMD and with Eigen.
#include <memory>

#include "attention_problem.hpp"

namespace {

using namespace bench;

/// The last problem is kept: its ways are measured one after the other.
AttentionProblem& problem(index_t width, index_t tokens, bool causal) {
  static std::unique_ptr<AttentionProblem> last;
  if (!last || !last->is(width, tokens, causal)) {
    last.reset();
    const index_t heads = ashlar::max_index(4, thread_counts().back());
    last = std::make_unique<AttentionProblem>(width, tokens, heads, causal);
  }
  return *last;
}

void measure_attention(benchmark::State& state, Way way, index_t width, index_t tokens, bool causal,
                       int threads) {
  AttentionProblem& p = problem(width, tokens, causal);
  ashlar::Context<Simd> ctx(executor(threads));
  state.counters["extra bytes"] = p.check(way, ctx);
  const auto rounds = measure(
      state, threads, p.flops(), [&] { p.run(way, ctx); },
      [&](double seconds) { return fma_peak(ctx.executor(), seconds); });
  state.counters["GFLOP/s"] = rounds.rate(0) * 1e-9;
  state.counters["peak GFLOP/s"] = rounds.rate(1) * 1e-9;
  state.counters["of peak"] = rounds.ratio(0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  for (const index_t width : {64, 128})
    for (const bool causal : {true, false})
      for (index_t tokens = 512; tokens <= 8192; tokens *= 2)
        for (const int threads : thread_counts())
          for (const Way way : ways)
            add(std::string(name_of(way)) + "/d" + std::to_string(width) + "/N" +
                    std::to_string(tokens) + (causal ? "/causal" : "/full") + "/threads" +
                    std::to_string(threads),
                [=](benchmark::State& state) {
                  measure_attention(state, way, width, tokens, causal, threads);
                });
  return run_benchmarks(argc, argv);
}
