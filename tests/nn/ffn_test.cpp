// Feed-forwards against the formula in double: every activation, as a type and as a number of the
// configuration, with and without biases.
#include <gtest/gtest.h>

#include <ashlar/nn/ffn/glu.hpp>
#include <ashlar/nn/ffn/mlp.hpp>
#include <ashlar/simd.hpp>

#include "nn/weight_store.hpp"
#include "oracle/activations.hpp"
#include "oracle/linear.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar;
using nn_test::Floats, nn_test::WeightStore;
using oracle::Vec;

constexpr index_t M = 5;
constexpr Dims dims{.d_model = 23, .d_ff = 45};
const Floats x = support::Random(3).normals<float>(M * dims.d_model, 1.5);

template <class Ffn>
Floats run(const typename Ffn::Config& config, WeightStore& store) {
  typename Ffn::Weights weights;
  Ffn::visit(weights, config, dims, store);
  Floats y(x.size(), NAN);
  Context<backend::SimdCpu> ctx;
  Ffn::apply(ctx, config, weights, dims, MatrixView<const float>(x.data(), {M, dims.d_model}),
             MatrixView<float>(y.data(), {M, dims.d_model}));
  return y;
}
/// down(act(up x)), or down(act(gate x) * up x).
Vec expected(const WeightStore& w, bool gated, double (*act)(double)) {
  const index_t D = dims.d_model, F = dims.d_ff;
  const Vec input(x.begin(), x.end());
  const auto product = [&](const Vec& in, const char* name, index_t from, index_t to) {
    return oracle::linear(in, w.doubles(name), M, from, to, w.doubles(name + std::string("_bias")));
  };
  Vec hidden = product(input, "up", D, F);
  if (gated)
    hidden = oracle::gated(product(input, "gate", D, F), hidden, act);
  else
    for (double& v : hidden) v = act(v);
  return product(hidden, "down", F, D);
}

/// The layer with its activation as a type and as a number.
template <class Typed, class Chosen>
void expect_oracle(ActivationKind kind, double (*act)(double), bool gated) {
  for (const bool bias : {false, true}) {
    WeightStore store(1), same(1);
    typename Typed::Config typed;
    typed.bias = bias;
    const Floats y = run<Typed>(typed, store);
    EXPECT_EQ(store.values().size(), (gated ? 3u : 2u) * (bias ? 2 : 1));
    EXPECT_TRUE(support::all_close_to_largest(y, expected(store, gated, act), 2e-6))
        << typeid(Typed).name();
    typename Chosen::Config chosen;
    chosen.bias = bias;
    chosen.activation = kind;
    EXPECT_TRUE(support::same_bits(run<Chosen>(chosen, same), y)) << typeid(Typed).name();
  }
}
template <class Act>
void expect_both(ActivationKind kind, double (*act)(double)) {
  expect_oracle<Mlp<Act>, Mlp<act::Chosen>>(kind, act, false);
  expect_oracle<Glu<Act>, Glu<act::Chosen>>(kind, act, true);
}
TEST(FeedForward, EveryActivationAsTypeAndAsNumber) {
  expect_both<act::Identity>(ActivationKind::identity, [](double v) { return v; });
  expect_both<act::Relu>(ActivationKind::relu, oracle::relu);
  expect_both<act::ReluSquared>(ActivationKind::relu_squared, oracle::relu_squared);
  expect_both<act::Sigmoid>(ActivationKind::sigmoid, oracle::sigmoid);
  expect_both<act::Silu>(ActivationKind::silu, oracle::silu);
  expect_both<act::Gelu>(ActivationKind::gelu, oracle::gelu_erf);
  expect_both<act::GeluTanh>(ActivationKind::gelu_tanh, oracle::gelu_tanh);
  expect_both<act::GeluQuick>(ActivationKind::gelu_quick, oracle::gelu_quick);
}

static_assert(FfnPolicy<Mlp<act::Chosen>> && FfnPolicy<Glu<act::Chosen>>);
static_assert(!Activation<act::Chosen> && !ActivationChoice<int>);

}  // namespace
