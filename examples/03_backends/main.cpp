// One block on three backends. Only the tag changes: scalar loops to read, SIMD kernels to run, and
// Eigen for the matrix products. Scalar and SIMD give the same bits (where the build has fused
// multiply-add), Eigen the same numbers within rounding.
#include <algorithm>
#include <ashlar/ashlar.hpp>
#include <ashlar/eigen.hpp>
#include <ashlar/simd.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <random>
#include <vector>

using ashlar::index_t;
using Block = ashlar::DecoderBlock<ashlar::NineSwapsSpec>;
using Floats = std::vector<float>;

constexpr index_t T = 32;

struct Problem {
  Block::Config config;
  Block::Weights weights;
  Floats input;
  std::deque<Floats> memory;

  Problem() {
    config.dims = {.d_model = 320, .n_heads = 5, .n_kv_heads = 1, .head_dim = 64, .d_ff = 864};
    config.mixer.position.rule.width = 64;
    Block::visit(weights, config,
                 [&](std::string_view, auto& view, std::initializer_list<index_t> shape) {
                   bind(view, shape);
                 });
    input = random(T * config.dims.d_model, 1.f);
  }
  Floats random(index_t count, float deviation) {
    std::normal_distribution<float> normal(0.f, deviation);
    Floats x(static_cast<std::size_t>(count));
    for (float& value : x) value = normal(engine);
    return x;
  }
  void bind(ashlar::WeightMatrix& view, std::initializer_list<index_t> shape) {
    const index_t rows = shape.begin()[0], columns = shape.begin()[1];
    Floats& x = memory.emplace_back(random(rows * columns, 0.05f));
    view = ashlar::MatrixView<float>(x.data(), {rows, columns});
  }
  void bind(ashlar::VectorView<const float>& view, std::initializer_list<index_t> shape) {
    Floats& x = memory.emplace_back(random(shape.begin()[0], 1.f));
    view = {x.data(), {shape.begin()[0]}};
  }

  std::mt19937 engine{7};
};

// Everything that is written once for all backends has the tag as its only parameter.
template <ashlar::Backend B>
Floats run(const Problem& p) {
  ashlar::Context<B> ctx;
  const ashlar::TokenBatch batch(1, T);
  Floats x;
  double best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) {
    x = p.input;
    const auto start = std::chrono::steady_clock::now();
    Block::forward(ctx, p.config, p.weights, batch, nullptr,
                   ashlar::MatrixView<float>(x.data(), {T, p.config.dims.d_model}));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  std::printf("%-7s %8.2f ms", std::string(B::name).c_str(), best);
  return x;
}

float largest_difference(const Floats& a, const Floats& b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

int main() {
  const Problem p;
  std::printf("one block, %td tokens\n", T);
  const Floats scalar = run<ashlar::backend::ScalarCpu>(p);
  std::printf("\n");
  const Floats simd = run<ashlar::backend::SimdCpu>(p);
  std::printf("   differs from scalar by %g\n", double{largest_difference(simd, scalar)});
  const Floats eigen = run<ashlar::backend::EigenCpu>(p);
  std::printf("   differs from scalar by %.2g\n", double{largest_difference(eigen, scalar)});

  const bool simd_agrees =
      ashlar::has_fma ? simd == scalar : largest_difference(simd, scalar) < 1e-3f;
  return simd_agrees && largest_difference(eigen, scalar) < 1e-3f ? 0 : 1;
}
