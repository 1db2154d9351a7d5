// Rotary embedding on SIMD, beside the scalar kernel whose bits it has.
#include <ashlar/ops/rope.hpp>
#include <ashlar/simd.hpp>

#include "report.hpp"

namespace {

using namespace bench;
using ashlar::RopePairing;

void measure_rope(benchmark::State& state, RopePairing pairing, index_t M, index_t heads,
                  index_t width, int threads) {
  ashlar::Buffer<float> table(M * width), x(M * heads * width), expected(M * heads * width);
  ashlar::Buffer<index_t> positions(M);
  for (index_t m = 0; m < M; ++m) positions[m] = m;
  const ashlar::TensorView<float, 3> angles(table.data(), {M, 2, width / 2});
  ashlar::rope_table(ashlar::rope_frequencies(10000, width),
                     ashlar::VectorView<const index_t>(positions.data(), {M}), angles);
  const auto run = [&](auto& ctx, ashlar::Buffer<float>& to) {
    ashlar::rope(ctx, ashlar::TensorView<const float, 3>(angles), pairing,
                 ashlar::TensorView<float, 3>(to.data(), {M, heads, width}));
  };
  ashlar::Context<ashlar::backend::SimdCpu> simd(executor(threads));
  ashlar::Context<ashlar::backend::ScalarCpu> scalar(executor(threads));
  fill_random(x.data(), x.size(), 1);
  fill_random(expected.data(), expected.size(), 1);
  run(simd, x);
  run(scalar, expected);
  expect_agree("rope", x.data(), expected.data(), x.size(), ashlar::has_fma ? 0 : 1e-5);

  const double bytes = 8 * static_cast<double>(x.size());  // x is read and written
  const auto rounds = measure(
      state, threads, bytes, [&] { run(simd, x); },
      [&](double) { return bytes / seconds_of(threads, [&] { run(scalar, expected); }); });
  state.counters["GB/s"] = rounds.rate(0) * 1e-9;
  state.counters["scalar GB/s"] = rounds.rate(1) * 1e-9;
  state.counters["times scalar"] = rounds.ratio(0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr index_t shapes[][3] = {{512, 9, 64}, {1, 9, 64}, {512, 32, 128}};  // [M, heads, width]
  for (const RopePairing pairing : {RopePairing::half_split, RopePairing::interleaved})
    for (const auto& shape : shapes)
      for (const int threads : thread_counts()) {
        const index_t M = shape[0], heads = shape[1], width = shape[2];
        if (M == 1 && threads > 1) continue;
        add(std::string(pairing == RopePairing::half_split ? "half_split" : "interleaved") + "/M" +
                std::to_string(M) + "/heads" + std::to_string(heads) + "/d" +
                std::to_string(width) + "/threads" + std::to_string(threads),
            [=](benchmark::State& state) {
              measure_rope(state, pairing, M, heads, width, threads);
            });
      }
  return run_benchmarks(argc, argv);
}
