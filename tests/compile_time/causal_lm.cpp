// The smallest program that composes a language model out of types: one family's CausalLm on one
// backend, its weights the caller's. Tests measure its build.
#include <ashlar/models/causal_lm.hpp>
#include <ashlar/nn/specs.hpp>
#include <ashlar/simd.hpp>
#include <cstdio>
#include <vector>

using namespace ashlar;
using Lm = CausalLm<LlamaSpec>;

int main() {
  Lm::Config config{.vocabulary = 100, .d_model = 64, .tied_head = true};
  config.layers.resize(2);
  for (auto& layer : config.layers) {
    layer.dims = {.d_model = 64, .n_heads = 4, .n_kv_heads = 2, .head_dim = 16, .d_ff = 160};
    layer.mixer.position.rule = {.theta = 10000.0, .width = 16};
  }
  Lm::Weights weights;  // views; here every one of them shows the same few numbers
  std::vector<float> numbers(160 * 64, 0.01f);
  Lm::visit(weights, config, [&](std::string_view, auto& view, std::initializer_list<index_t> e) {
    if constexpr (requires { view.rows(); })
      view = MatrixView<float>(numbers.data(), {e.begin()[0], e.begin()[1]});
    else
      view = VectorView<const float>(numbers.data(), {e.begin()[0]});
  });

  Context<backend::SimdCpu> context;
  Lm::State state(config, 1, 8);
  const std::int32_t tokens[] = {1, 2, 3};
  std::vector<float> hidden(3 * 64), logits(100);
  Lm::forward(context, config, weights, state, MatrixView<const std::int32_t>(tokens, {1, 3}),
              MatrixView<float>(hidden.data(), {3, 64}));
  Lm::head(context, config, weights, MatrixView<const float>(hidden.data() + 128, {1, 64}),
           MatrixView<float>(logits.data(), {1, 100}));
  std::printf("%.9g\n", static_cast<double>(logits[0]));
}
