// linear with many rows: the products of a prompt, in shares of the FMA peak.
#include <Eigen/Core>
#include <ashlar/simd.hpp>

#include "random_weights.hpp"

namespace {

using namespace bench;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void measure_product(benchmark::State& state, DType type, index_t M, index_t N, index_t K,
                     int threads) {
  const RandomWeights weights(type, N, K);
  Matrix x(M, K), y(M, N), w(N, K);
  fill_random(x.data(), x.size(), 2);
  ashlar::Context<ashlar::backend::SimdCpu> ctx(executor(threads));
  const auto work = [&] {
    ashlar::linear(ctx, ashlar::MatrixView<const float>(x.data(), {M, K}), weights.panels(), {},
                   ashlar::MatrixView<float>(y.data(), {M, N}));
  };
  work();
  for (index_t n = 0; n < N; ++n) ashlar::decode_row(weights.rows, n, w.data() + n * K);
  const Matrix expected = x * w.transpose();
  expect_agree("linear " + name_of(type), y.data(), expected.data(), y.size(), 1e-5);

  const double flops = 2 * static_cast<double>(M * N * K);
  const auto rounds = measure(state, threads, flops, work,
                              [&](double seconds) { return fma_peak(ctx.executor(), seconds); });
  state.counters["GFLOP/s"] = rounds.rate(0) * 1e-9;
  state.counters["peak GFLOP/s"] = rounds.rate(1) * 1e-9;
  state.counters["of peak"] = rounds.ratio(0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  // [N, K]: the layers of a model with 576 features, and a large square.
  constexpr index_t shapes[][2] = {{576, 576}, {192, 576}, {1536, 576}, {576, 1536}, {2048, 2048}};
  for (const index_t M : {512, 64})
    for (const auto& shape : shapes)
      for (const DType type : weight_types)
        for (const int threads : thread_counts()) {
          const index_t N = shape[0], K = shape[1];
          if (K % ashlar::info(type).elements != 0) continue;
          add(name_of(type) + "/M" + std::to_string(M) + "/" + std::to_string(N) + "x" +
                  std::to_string(K) + "/threads" + std::to_string(threads),
              [=](benchmark::State& state) { measure_product(state, type, M, N, K, threads); });
        }
  return run_benchmarks(argc, argv, 0.15);
}
