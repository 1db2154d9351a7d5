// Norm policies: each computes the rule that its name says, and gives away parts of its weights.
#include <gtest/gtest.h>

#include <ashlar/nn/norm/layer_norm.hpp>
#include <ashlar/nn/norm/rms_norm.hpp>
#include <ashlar/simd.hpp>
#include <string>

#include "oracle/norms.hpp"
#include "support/compare.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;
using Floats = std::vector<float>;

/// A norm of rows [M, D], with the names that it asks weights for.
template <class Norm>
struct Rows {
  Floats gain, bias;
  typename Norm::Config config;
  typename Norm::Weights weights;
  std::string names;

  explicit Rows(index_t D, bool with_bias = false) : gain(support::Random(1).normals<float>(D)) {
    bias = support::Random(2).normals<float>(D);
    config.eps = 2e-3f;
    if constexpr (requires { config.bias; }) config.bias = with_bias;
    Norm::visit(weights, config, D,
                [&](std::string_view name, auto& view, std::initializer_list<index_t> extents) {
                  names += std::string(name) + " ";
                  view = VectorView<const float>((name == "gain" ? gain : bias).data(),
                                                 {*extents.begin()});
                });
  }
  Floats operator()(const Floats& x, index_t M) {
    const index_t D = static_cast<index_t>(x.size()) / M;
    Floats y(x.size(), NAN);
    Context<backend::SimdCpu> ctx;
    Norm::apply(ctx, config, weights, MatrixView<const float>(x.data(), {M, D}),
                MatrixView<float>(y.data(), {M, D}));
    return y;
  }
};
oracle::Vec doubles(const Floats& v) { return {v.begin(), v.end()}; }

constexpr index_t M = 3, D = 37;
const Floats x = support::Random(3).normals<float>(M * D, 2, 0.5);

template <class Norm>
void expect_rms(const oracle::Vec& gain, bool plus_one, const char* names) {
  Rows<Norm> run(D);
  EXPECT_EQ(run.names, names);
  EXPECT_TRUE(support::all_close_to_largest(
      run(x, M), oracle::rms_norm(doubles(x), M, D, 2e-3f, gain, plus_one), 1e-6));
}
TEST(NormPolicies, RmsNormsByName) {
  const oracle::Vec gain = doubles(Rows<RmsNorm>(D).gain);
  expect_rms<RmsNorm>(gain, false, "gain ");
  expect_rms<RmsNormRoundedOnce>(gain, false, "gain ");
  expect_rms<GemmaRmsNorm>(gain, true, "gain ");
  expect_rms<WeightlessRmsNorm>({}, false, "");
}
TEST(NormPolicies, LayerNormsByName) {
  for (const bool bias : {false, true}) {
    Rows<LayerNorm> plain(D, bias);
    Rows<LayerNorm1p> plus_one(D, bias);
    EXPECT_EQ(plain.names, bias ? "gain bias " : "gain ");
    EXPECT_EQ(plus_one.names, plain.names);
    const oracle::Vec w = doubles(plain.gain), b = bias ? doubles(plain.bias) : oracle::Vec{};
    EXPECT_TRUE(support::all_close_to_largest(
        plain(x, M), oracle::layer_norm(doubles(x), M, D, 2e-3f, w, b), 1e-6));
    EXPECT_TRUE(support::all_close_to_largest(
        plus_one(x, M), oracle::layer_norm(doubles(x), M, D, 2e-3f, w, b, true), 1e-6));
  }
}

/// Heads of 5 with weights of their own.
TEST(NormPolicies, PartsOfWeights) {
  const Rows<LayerNorm> with_bias(D, true), without(D, false);
  const LayerNorm::Weights all = with_bias.weights;
  const LayerNorm::Weights head = LayerNorm::part(all, 10, 5);
  EXPECT_EQ(head.gain.data(), all.gain.data() + 10);
  EXPECT_EQ(head.bias.data(), all.bias.data() + 10);
  EXPECT_EQ(head.gain.extent(0), 5);
  EXPECT_EQ(head.bias.extent(0), 5);
  const LayerNorm::Weights no_bias = LayerNorm::part(without.weights, 10, 5);
  EXPECT_EQ(no_bias.gain.extent(0), 5);
  EXPECT_TRUE(no_bias.bias.data() == nullptr && no_bias.bias.empty());

  const Rows<RmsNorm> norm(D);
  const RmsNorm::Weights rms = norm.weights;
  EXPECT_EQ(RmsNorm::part(rms, 32, 5).gain.data(), rms.gain.data() + 32);
  EXPECT_EQ(RmsNorm::part(rms, 32, 5).gain.extent(0), 5);
  EXPECT_TRUE(WeightlessRmsNorm::part({}, 32, 5).gain.data() == nullptr);
}

}  // namespace
