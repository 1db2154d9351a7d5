// A decoder block put together by hand: choose the types, give the numbers, bind the weights, run
// it. Once over a whole text, once token by token through a cache of keys and values: the results
// are the same, bit for bit.
#include <ashlar/ashlar.hpp>
#include <ashlar/simd.hpp>
#include <cstdio>
#include <deque>
#include <random>
#include <vector>

using ashlar::index_t;

// 1. Kinds are types. Every line may be exchanged for another one: try LayerNorm as the norm,
//    Attention<NoPosition>, Mlp<act::Gelu>, or LayerScale as the residual.
struct MySpec {
  using Norm = ashlar::RmsNorm;
  using Mixer = ashlar::Attention<ashlar::Rope>;
  using Ffn = ashlar::SwiGlu;
  using Residual = ashlar::PlainResidual;
  using Wiring = ashlar::PreNorm;
};
using Block = ashlar::DecoderBlock<MySpec>;

// 2. Numbers are values: 4 query heads share 2 heads of keys and values.
Block::Config make_config() {
  Block::Config c;
  c.dims = {.d_model = 64, .n_heads = 4, .n_kv_heads = 2, .head_dim = 16, .d_ff = 160};
  c.mixer.position.rule = {.theta = 10000.0, .width = c.dims.head_dim};
  return c;
}

// 3. Weights are views of memory that you own. Block::visit names each one with its shape; here
//    they get random numbers, a program would look them up in a file.
struct RandomWeights {
  std::mt19937 engine{42};
  std::deque<std::vector<float>> memory;  // never moves what it holds

  float* make(std::string_view name, index_t count, float mean, float deviation) {
    std::printf("  %-18.*s %6td numbers\n", static_cast<int>(name.size()), name.data(), count);
    std::normal_distribution<float> normal(mean, deviation);
    auto& x = memory.emplace_back(static_cast<std::size_t>(count));
    for (float& value : x) value = normal(engine);
    return x.data();
  }
  // Matrices may be of any stored type, float here.
  void operator()(std::string_view name, ashlar::WeightMatrix& view,
                  std::initializer_list<index_t> shape) {
    const index_t rows = shape.begin()[0], columns = shape.begin()[1];
    view = ashlar::MatrixView<float>(make(name, rows * columns, 0.f, 0.1f), {rows, columns});
  }
  // Gains and biases are floats.
  void operator()(std::string_view name, ashlar::VectorView<const float>& view,
                  std::initializer_list<index_t> shape) {
    view = {make(name, shape.begin()[0], 1.f, 0.1f), {shape.begin()[0]}};
  }
};

int main() {
  const Block::Config config = make_config();
  Block::Weights weights;
  RandomWeights random;
  std::printf("the weights of the block:\n");
  Block::visit(weights, config, random);

  // 4. A context has the scratch memory and the threads of one chain of calls. For plain readable
  //    loops write ScalarCpu.
  ashlar::Context<ashlar::backend::SimdCpu> ctx;

  // 5. The stream of T tokens, a row each; a block changes it in place.
  constexpr index_t T = 10;
  const index_t D = config.dims.d_model;
  std::normal_distribution<float> normal;
  std::vector<float> input(static_cast<std::size_t>(T * D));
  for (float& x : input) x = normal(random.engine);

  std::vector<float> whole = input;
  Block::forward(ctx, config, weights, ashlar::TokenBatch(1, T), nullptr,
                 ashlar::MatrixView<float>(whole.data(), {T, D}));

  // 6. The same token by token. The state keeps keys and values, so that each step computes one
  //    row only: this is how text is generated.
  std::vector<float> stepwise = input;
  Block::State cache = Block::make_state(config, 1, T);
  for (index_t t = 0; t < T; ++t)
    Block::forward(ctx, config, weights, ashlar::TokenBatch(1, 1, /*first_position=*/t), &cache,
                   ashlar::MatrixView<float>(stepwise.data() + t * D, {1, D}));

  const float *a = whole.data() + (T - 1) * D, *b = stepwise.data() + (T - 1) * D;
  std::printf("\nlast row, whole text:     %.9g, %.9g, ..\n", double{a[0]}, double{a[1]});
  std::printf("last row, token by token: %.9g, %.9g, ..\n", double{b[0]}, double{b[1]});
  const bool same = whole == stepwise;
  std::printf("all %td numbers are the same: %s\n", T * D, same ? "yes" : "no");
  return same || !ashlar::has_fma ? 0 : 1;  // no promise of bits without fused multiply-add
}
