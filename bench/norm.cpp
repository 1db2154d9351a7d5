// Row norms and softmax on SIMD, beside the scalar kernels whose bits they have.
#include <ashlar/ops/layer_norm.hpp>
#include <ashlar/ops/rms_norm.hpp>
#include <ashlar/ops/softmax.hpp>
#include <ashlar/simd.hpp>

#include "report.hpp"

namespace {

using namespace bench;

template <class Op>
void measure_rows(benchmark::State& state, const std::string& name, index_t M, index_t D,
                  int threads, const Op& op) {
  ashlar::Buffer<float> x(M * D), w(D), y(M * D), expected(M * D);
  fill_random(x.data(), x.size(), 1);
  fill_random(w.data(), w.size(), 2);
  const ashlar::VectorView<const float> gain(w.data(), {D});
  const auto run = [&](auto& ctx, ashlar::Buffer<float>& out) {
    op(ctx, ashlar::MatrixView<const float>(x.data(), {M, D}), gain,
       ashlar::MatrixView<float>(out.data(), {M, D}));
  };
  ashlar::Context<ashlar::backend::SimdCpu> simd(executor(threads));
  ashlar::Context<ashlar::backend::ScalarCpu> scalar(executor(threads));
  run(simd, y);
  run(scalar, expected);
  expect_agree(name, y.data(), expected.data(), y.size(), ashlar::has_fma ? 0 : 1e-5);

  const double bytes = 8 * static_cast<double>(M * D);  // x is read, y is written
  const auto rounds = measure(
      state, threads, bytes, [&] { run(simd, y); },
      [&](double) { return bytes / seconds_of(threads, [&] { run(scalar, expected); }); });
  state.counters["GB/s"] = rounds.rate(0) * 1e-9;
  state.counters["scalar GB/s"] = rounds.rate(1) * 1e-9;
  state.counters["times scalar"] = rounds.ratio(0, 1);
}

template <class Op>
void add_op(const std::string& name, const Op& op) {
  constexpr index_t shapes[][2] = {{512, 576}, {4096, 4096}};  // [M, D]
  for (const auto& shape : shapes)
    for (const int threads : thread_counts()) {
      const index_t M = shape[0], D = shape[1];
      add(name + "/" + std::to_string(M) + "x" + std::to_string(D) + "/threads" +
              std::to_string(threads),
          [=](benchmark::State& state) { measure_rows(state, name, M, D, threads, op); });
    }
}

}  // namespace

int main(int argc, char** argv) {
  add_op("rms_norm",
         [](auto& ctx, auto x, auto gain, auto y) { ashlar::rms_norm(ctx, x, gain, y, 1e-5f); });
  add_op("layer_norm", [](auto& ctx, auto x, auto gain, auto y) {
    ashlar::layer_norm(ctx, x, gain, gain, y, 1e-5f);
  });
  add_op("softmax", [](auto& ctx, auto x, auto, auto y) { ashlar::softmax(ctx, x, y); });
  return run_benchmarks(argc, argv);
}
