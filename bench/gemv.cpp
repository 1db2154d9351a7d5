// linear with one row: the products of a new token, in shares of the memory's read bandwidth.
#include <ashlar/simd.hpp>

#include "random_weights.hpp"

namespace {

using namespace bench;

void measure_product(benchmark::State& state, DType type, index_t N, index_t K, int threads) {
  // Copies are used in turns, so that weights come from memory as those of a large model do.
  const index_t bytes = ashlar::packed_bytes(type, N, K);
  const index_t copies = ashlar::ceil_div(index_t{256} << 20, bytes);
  const RandomWeights weights(type, N, K, copies);
  ashlar::Buffer<float> x(K), y(N), expected(N), row(K);
  fill_random(x.data(), K, 2);
  ashlar::Context<ashlar::backend::SimdCpu> ctx(executor(threads));
  index_t copy = 0;
  const auto work = [&] {
    ashlar::linear(ctx, ashlar::MatrixView<const float>(x.data(), {1, K}), weights.panels(copy), {},
                   ashlar::MatrixView<float>(y.data(), {1, N}));
    copy = (copy + 1) % copies;
  };
  work();
  for (index_t n = 0; n < N; ++n) {
    ashlar::decode_row(weights.rows, n, row.data());
    double sum = 0;
    for (index_t k = 0; k < K; ++k) sum += double{x[k]} * double{row[k]};
    expected[n] = static_cast<float>(sum);
  }
  expect_agree("linear " + name_of(type), y.data(), expected.data(), N, 1e-5);

  static ReadProbe read;
  const auto rounds = measure(state, threads, static_cast<double>(bytes), work,
                              [&](double) { return read(ctx.executor()); });
  state.counters["GB/s"] = rounds.rate(0) * 1e-9;
  state.counters["read GB/s"] = rounds.rate(1) * 1e-9;
  state.counters["of read"] = rounds.ratio(0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr index_t shapes[][2] = {{4096, 4096}, {49152, 576}};  // [N, K]
  for (const auto& shape : shapes)
    for (const DType type : weight_types)
      for (const int threads : thread_counts()) {
        const index_t N = shape[0], K = shape[1];
        if (K % ashlar::info(type).elements != 0) continue;
        add(name_of(type) + "/" + std::to_string(N) + "x" + std::to_string(K) + "/threads" +
                std::to_string(threads),
            [=](benchmark::State& state) { measure_product(state, type, N, K, threads); });
      }
  return run_benchmarks(argc, argv);
}
