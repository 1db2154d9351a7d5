// A small model of any spec with random weights: shows that a policy of your own works in it.
#pragma once

#include <ashlar/ashlar.hpp>
#include <ashlar/simd.hpp>
#include <cmath>
#include <cstdio>
#include <deque>
#include <random>
#include <vector>

namespace ashlar::examples {

/// Gives every weight that visit() names memory and normal random numbers.
class RandomWeights {
 public:
  void operator()(std::string_view, WeightMatrix& view, std::initializer_list<index_t> shape) {
    const index_t rows = shape.begin()[0], columns = shape.begin()[1];
    const float deviation = 1.f / std::sqrt(static_cast<float>(columns));
    view = MatrixView<float>(make(rows * columns, 0.f, deviation), {rows, columns});
  }
  void operator()(std::string_view, VectorView<const float>& view,
                  std::initializer_list<index_t> shape) {
    view = {make(shape.begin()[0], 1.f, 0.1f), {shape.begin()[0]}};
  }

 private:
  float* make(index_t count, float mean, float deviation) {
    std::normal_distribution<float> normal(mean, deviation);
    auto& x = memory_.emplace_back(static_cast<std::size_t>(count));
    for (float& value : x) value = normal(engine_);
    return x.data();
  }
  std::mt19937 engine_{42};
  std::deque<std::vector<float>> memory_;  // never moves what it holds
};

/// Runs a model of three layers on ScalarCpu and on SimdCpu, there also token by token, and prints
/// how far the logits are apart. `configure(layer)` sets the numbers of a layer. Returns 0 if they
/// agree.
template <class Spec, class Configure>
int run_own_model(const char* name, const Configure& configure) {
  using Lm = CausalLm<Spec>;
  typename Lm::Config config;
  config.vocabulary = 97;
  config.d_model = 64;
  typename Lm::Block::Config layer;
  layer.dims = {.d_model = 64, .n_heads = 4, .n_kv_heads = 2, .head_dim = 16, .d_ff = 160};
  configure(layer);
  config.layers.assign(3, layer);
  typename Lm::Weights weights;
  RandomWeights random;
  Lm::visit(weights, config, random);

  constexpr index_t T = 50;
  std::vector<std::int32_t> tokens;
  for (index_t t = 0; t < T; ++t) tokens.push_back(static_cast<std::int32_t>(t * 31 % 97));
  const auto logits = [&]<class B>(Context<B> ctx, index_t step) {
    std::vector<float> hidden(static_cast<std::size_t>(T * config.d_model)),
        all(static_cast<std::size_t>(T * config.vocabulary));
    const MatrixView<float> rows(hidden.data(), {T, config.d_model});
    typename Lm::State state(config, 1, T);
    for (index_t t = 0; t < T; t += step)
      Lm::forward(ctx, config, weights, state,
                  MatrixView<const std::int32_t>(tokens.data() + t, {1, step}),
                  rows.slice(0, t, t + step));
    Lm::head(ctx, config, weights, MatrixView<const float>(rows),
             MatrixView<float>(all.data(), {T, config.vocabulary}));
    return all;
  };
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    float most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::fmax(most, std::fabs(a[i] - b[i]));
    return most;
  };
  const auto scalar = logits(Context<backend::ScalarCpu>{}, T);
  const auto simd = logits(Context<backend::SimdCpu>{}, T);
  const auto stepwise = logits(Context<backend::SimdCpu>{}, 1);
  const float backends = distance(scalar, simd), steps = distance(simd, stepwise);
  const float* last = simd.data() + (T - 1) * config.vocabulary;
  std::printf("a model with %s: logits after %td tokens %.5f, %.5f, ..\n", name, T, double{last[0]},
              double{last[1]});
  std::printf("SIMD and scalar kernels differ by at most %.2g\n", double{backends});
  std::printf("all tokens at once and one by one differ by at most %.2g\n", double{steps});
  return backends < 1e-5f && steps < 1e-5f ? 0 : 1;
}

}  // namespace ashlar::examples
