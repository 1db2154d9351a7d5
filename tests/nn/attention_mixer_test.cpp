// What attention can do beside projections and softmax, and every wiring, against double.
#include <ashlar/nn/residual/scaled.hpp>
#include <ashlar/nn/wiring/parallel.hpp>
#include <ashlar/simd.hpp>

#include "blocks.hpp"

namespace nn_test {
namespace {

using namespace ashlar;
using oracle::Vec;

constexpr index_t B = 2, T = 7, D = 20, N = 6, K = 2, H = 6;

using Mixer = Attention<NoPosition, PerHeadNorm<RmsNorm>, CausalMask, NoScore, KvCache<float>,
                        BasicRmsNorm<gain::None>>;

/// One mixer in double: the options that the library has, each spelt out.
Vec expected_mixer(const WeightStore& w, const Mixer::Config& c, const Vec& x, const Vec& kv_input,
                   const std::vector<index_t>& lengths = {}) {
  const index_t M = B * T;
  const auto project = [&](const Vec& from, const char* name, index_t rows) {
    const oracle::Matrix m = w.matrix(name);
    Vec y = oracle::linear(from, m.weight, M, D, rows, m.bias);
    for (double& e : y)
      if (c.clip != 0) e = std::clamp(e, -double{c.clip}, double{c.clip});
    return y;
  };
  const double eps = double{c.qk_norm.eps}, value_eps = double{c.value_norm.eps};
  Vec q = project(x, "q", N * H), k = project(kv_input, "k", K * H);
  Vec v = c.value_is_key ? k : project(kv_input, "v", K * H);
  v = oracle::rms_norm(v, M * K, H, value_eps, {}, false);
  q = oracle::rms_norm(q, M * N, H, eps, w.norm("q_norm").gain, false);
  k = oracle::rms_norm(k, M * K, H, eps, w.norm("k_norm").gain, false);
  oracle::AttentionOptions options;
  options.causal = true;
  options.scale = double{c.scale};
  options.sinks = w.doubles("sinks");
  for (const index_t n : lengths) {
    options.q_lengths.push_back(n);
    options.kv_lengths.push_back(n);
    options.q_offset.push_back(0);
  }
  Vec out = oracle::attention(q, k, v, {B, T, T, N, K, H, H}, options).out;
  if (c.gated) {
    const Vec gate = oracle::linear(x, w.matrix("gate").weight, M, D, N * H);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] /= 1 + std::exp(-gate[i]);
  }
  const oracle::Matrix o = w.matrix("o");
  return oracle::linear(out, o.weight, M, N * H, D, o.bias);
}

struct MixerProblem {
  explicit MixerProblem(Mixer::Config config) : c(config) {
    c.scale = 0.37f;
    Mixer::visit(w, c, d, store);
    x = support::Random(5).normals<float>(B * T * D, 1);
  }
  template <class Backend>
  Floats run(const TokenBatch& batch, Mixer::State* state) const {
    Context<Backend> ctx;
    Floats y(x.size(), NAN);
    Mixer::apply(ctx, c, w, d, batch, state, MatrixView<const float>(x.data(), {B * T, D}),
                 MatrixView<float>(y.data(), {B * T, D}));
    return y;
  }
  Vec doubles() const { return {x.begin(), x.end()}; }

  Dims d{.d_model = D, .n_heads = N, .n_kv_heads = K, .head_dim = H};
  Mixer::Config c;
  Mixer::Weights w;
  WeightStore store{9};
  Floats x;
};

void expect_equal(const MixerProblem& p, const char* what) {
  const Vec expected = expected_mixer(p.store, p.c, p.doubles(), p.doubles());
  const TokenBatch batch(B, T);
  const Floats scalar = p.run<backend::ScalarCpu>(batch, nullptr);
  EXPECT_TRUE(support::all_close_to_largest(scalar, expected, 3e-6)) << what;
  Mixer::State cache = Mixer::make_state(p.c, p.d, B, T);
  EXPECT_TRUE(same(p.run<backend::SimdCpu>(batch, nullptr), scalar)) << what;
  EXPECT_TRUE(same(p.run<backend::SimdCpu>(batch, &cache), scalar)) << what << ", cached";
}

TEST(AttentionMixer, EachOptionAloneAndAllTogether) {
  Mixer::Config all;
  all.clip = 0.8f;
  all.bias = {true, true, true, true};
  all.sinks = all.gated = true;
  expect_equal(MixerProblem(Mixer::Config{}), "plain");
  expect_equal(MixerProblem(all), "all");
  Mixer::Config one;
  one.clip = 0.5f;
  expect_equal(MixerProblem(one), "clip");
  one = {};
  one.sinks = true;
  expect_equal(MixerProblem(one), "sinks");
  one = {};
  one.gated = true;
  expect_equal(MixerProblem(one), "gate");
  one = {};
  one.value_is_key = true;
  expect_equal(MixerProblem(one), "value is key");
  one = {};
  one.bias.q = true;
  expect_equal(MixerProblem(one), "bias of q only");
}

TEST(AttentionMixer, SharesTheKeysOfAnEarlierLayer) {
  const MixerProblem owner(Mixer::Config{});
  Mixer::Config config;
  config.shared = true;
  MixerProblem sharing(config);
  // Its own x; keys and values are those that the owner made of its x.
  sharing.x = support::Random(77).normals<float>(B * T * D, 1);
  EXPECT_EQ(sharing.store.values().count("k"), 0u);
  WeightStore both = sharing.store;
  for (const char* name : {"k", "v", "k_norm.gain"}) {
    Floats copy = owner.store.values().at(name);
    if (std::string(name) == "k_norm.gain") {
      VectorView<const float> view;
      both(name, view, {H});
    } else {
      WeightMatrix view;
      both(name, view, {K * H, D});
    }
    both.at(name) = copy;
  }
  const Vec expected = expected_mixer(both, sharing.c, sharing.doubles(), owner.doubles());
  const TokenBatch batch(B, T);
  Mixer::State cache = Mixer::make_state(owner.c, owner.d, B, T);
  owner.run<backend::SimdCpu>(batch, &cache);
  EXPECT_TRUE(
      support::all_close_to_largest(sharing.run<backend::SimdCpu>(batch, &cache), expected, 3e-6));
  EXPECT_EQ(cache.length(0), T);  // appended once
  EXPECT_THROW(sharing.run<backend::SimdCpu>(batch, nullptr), ValueError);
}

TEST(AttentionMixer, PaddingIsNeitherSeenNorComputed) {
  MixerProblem p(Mixer::Config{});
  const std::vector<index_t> lengths = {T, 3};
  const Vec expected = expected_mixer(p.store, p.c, p.doubles(), p.doubles(), lengths);
  TokenBatch batch(B, T);
  batch.set_lengths(VectorView<const index_t>(lengths.data(), {B}));
  for (index_t m = T + 3; m < B * T; ++m)
    for (index_t i = 0; i < D; ++i) p.x[static_cast<std::size_t>(m * D + i)] = 1e30f;
  const Floats got = p.run<backend::SimdCpu>(batch, nullptr);
  const auto rows = [&](const auto& x) {
    return std::vector<double>(x.begin(), x.begin() + (T + 3) * D);
  };
  EXPECT_TRUE(support::all_close_to_largest(rows(got), rows(expected), 3e-6));
  EXPECT_THROW(batch.set_lengths(VectorView<const index_t>(lengths.data(), {1})), ShapeError);
  const std::vector<index_t> beyond = {T + 1, 0};
  EXPECT_THROW(batch.set_lengths(VectorView<const index_t>(beyond.data(), {B})), ValueError);
}

// ---- wirings ----

template <class W, class R = PlainResidual>
struct WiredSpec : LlamaSpec {
  using Mixer = Attention<NoPosition>;
  using Wiring = W;
  using Residual = R;
};

/// x = stream(x + factor * branch(f(pre(x)))) and the parallel forms, from the parts in double.
template <class Spec>
void expect_wiring(bool pre, bool branch, bool stream, int parallel, double factor = 1) {
  using Block = DecoderBlock<Spec>;
  typename Block::Config c;
  c.dims = {.d_model = D, .n_heads = N, .n_kv_heads = K, .head_dim = H, .d_ff = 15};
  if constexpr (requires { c.residual.factor; }) c.residual.factor = static_cast<float>(factor);
  typename Block::Weights w;
  WeightStore store(3);
  Block::visit(w, c, store);
  const Floats input = support::Random(4).normals<float>(B * T * D, 1);
  const index_t M = B * T;

  const auto norm = [&](const Vec& x, const std::string& name) {
    return oracle::rms_norm(x, M, D, double{c.norm.eps}, store.norm(name).gain, false);
  };
  const auto mixer = [&](const Vec& h) {
    const auto project = [&](const char* name, index_t rows) {
      return oracle::linear(h, store.doubles(name), M, D, rows);
    };
    oracle::AttentionOptions options;
    options.causal = true;
    const Vec out = oracle::attention(project("mixer.q", N * H), project("mixer.k", K * H),
                                      project("mixer.v", K * H), {B, T, T, N, K, H, H}, options)
                        .out;
    return oracle::linear(out, store.doubles("mixer.o"), M, N * H, D);
  };
  const auto ffn = [&](const Vec& h) {
    const Vec gate = oracle::linear(h, store.doubles("ffn.gate"), M, D, 15);
    const Vec up = oracle::linear(h, store.doubles("ffn.up"), M, D, 15);
    return oracle::linear(oracle::gated(gate, up, oracle::silu), store.doubles("ffn.down"), M, 15,
                          D);
  };
  Vec x(input.begin(), input.end());
  const auto add = [&](const Vec& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
  };
  if (parallel) {
    const Vec y = mixer(norm(x, "mixer_norm"));
    const Vec z = ffn(norm(x, parallel == 1 ? "mixer_norm" : "ffn_norm"));
    add(y);
    add(z);
  } else {
    const auto sublayer = [&](const std::string& name, const auto& f) {
      Vec y = f(pre ? norm(x, name + "_norm") : x);
      if (branch) y = norm(y, name + "_branch_norm");
      add(y);
      if (stream) x = norm(x, name + "_stream_norm");
    };
    sublayer("mixer", mixer);
    sublayer("ffn", ffn);
  }

  const auto run = [&]<class Backend>(Context<Backend> ctx) {
    Floats y = input;
    Block::forward(ctx, c, w, TokenBatch(B, T), nullptr, MatrixView<float>(y.data(), {M, D}));
    return y;
  };
  const Floats scalar = run(Context<backend::ScalarCpu>{});
  EXPECT_TRUE(support::all_close_to_largest(scalar, x, 3e-6));
  EXPECT_TRUE(same(run(Context<backend::SimdCpu>{}), scalar));
}

TEST(Wiring, PreNorm) { expect_wiring<WiredSpec<PreNorm>>(true, false, false, 0); }
TEST(Wiring, PostNorm) { expect_wiring<WiredSpec<PostNorm>>(false, false, true, 0); }
TEST(Wiring, BranchNorm) { expect_wiring<WiredSpec<BranchNorm>>(false, true, false, 0); }
TEST(Wiring, SandwichNorm) { expect_wiring<WiredSpec<SandwichNorm>>(true, true, false, 0); }
TEST(Wiring, ParallelOneNorm) { expect_wiring<WiredSpec<ParallelOneNorm>>(false, false, false, 1); }
TEST(Wiring, ParallelTwoNorms) {
  expect_wiring<WiredSpec<ParallelTwoNorms>>(false, false, false, 2);
}
TEST(Wiring, ScaledResidual) {
  expect_wiring<WiredSpec<PreNorm, ScaledResidual>>(true, false, false, 0, 0.375);
}

}  // namespace
}  // namespace nn_test
