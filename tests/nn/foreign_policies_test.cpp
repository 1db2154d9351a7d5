// Policies of every kind that the library does not have, written here only: the interfaces fit what
// others will add.
#include <gtest/gtest.h>

#include <ashlar/simd.hpp>

#include "blocks.hpp"

namespace nn_test {
namespace {

using namespace ashlar;

/// y = x / max |x|.
struct MaxNorm {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, MatrixView<const T> x,
                    MatrixView<T> y) {
    for (index_t m = 0; m < x.extent(0); ++m) {
      T top = 0;
      for (index_t i = 0; i < x.extent(1); ++i) top = std::max(top, std::abs(x(m, i)));
      for (index_t i = 0; i < x.extent(1); ++i) y(m, i) = top > 0 ? x(m, i) / top : T(0);
    }
  }
};

/// y_t = W s_t with the running average s_t = decay s_(t-1) + (1 - decay) x_t: a mixer whose memory
/// of any number of tokens is one row.
struct RunningAverage {
  struct Config {
    float decay = 0.75f;
  };
  struct Weights {
    WeightMatrix out;
  };
  using State = std::vector<float>;  // [B, D]
  static void visit(Weights& w, const Config&, const Dims& d, auto&& f) {
    f("out", w.out, {d.d_model, d.d_model});
  }
  static State make_state(const Config&, const Dims& d, index_t batch, index_t /*capacity*/) {
    return State(static_cast<std::size_t>(batch * d.d_model));
  }
  static void apply(auto& ctx, const Config& c, const Weights& w, const Dims& d,
                    const TokenBatch& batch, State* state, MatrixView<const float> x,
                    MatrixView<float> y) {
    Scratch::Frame frame(ctx.scratch());
    const auto averages = frame.tensor<float, 2>({batch.rows(), d.d_model});
    for (index_t m = 0; m < batch.rows(); ++m)
      for (index_t i = 0; i < d.d_model; ++i) {
        const bool first = m % batch.tokens() == 0;
        float* kept = state ? state->data() + m / batch.tokens() * d.d_model + i : nullptr;
        const float before = !first ? averages(m - 1, i) : kept ? *kept : 0.f;
        averages(m, i) = std::fma(c.decay, before, (1 - c.decay) * x(m, i));
        if (kept) *kept = averages(m, i);
      }
    linear(ctx, MatrixView<const float>(averages), w.out, {}, y);
  }
};

/// y = relu(x)^3, on vectors too.
struct Cube {
  template <class V>
  static V apply(V x) {
    const V r = math::relu(x);
    return V(r * r) * r;
  }
};

/// y = f(x) * scale, without a hidden layer.
struct ChannelFfn {
  struct Config {};
  struct Weights {
    VectorView<const float> scale;
  };
  static void visit(Weights& w, const Config&, const Dims& d, auto&& f) {
    f("scale", w.scale, {d.d_model});
  }
  static void apply(auto& ctx, const Config&, const Weights& w, const Dims&,
                    MatrixView<const float> x, MatrixView<float> y) {
    activation<Cube>(ctx, x, y);
    for (index_t m = 0; m < y.extent(0); ++m)
      for (index_t i = 0; i < y.extent(1); ++i) y(m, i) *= w.scale(i);
  }
};

/// x = (x + branch) / 2.
struct HalvedResidual {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  static void apply(auto& ctx, const Config&, const Weights&, MatrixView<const float> branch,
                    MatrixView<float> x) {
    residual_add(ctx, branch, {}, x);
    for (index_t m = 0; m < x.extent(0); ++m)
      for (index_t i = 0; i < x.extent(1); ++i) x(m, i) *= 0.5f;
  }
};

/// Adds the position itself to the first channel.
struct CountedPosition {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t, auto&&) {}
  static void apply(auto&, const Config&, const Weights&, const TokenBatch& batch,
                    MatrixView<float> x) {
    for (index_t m = 0; m < x.extent(0); ++m) x(m, 0) += static_cast<float>(batch.positions()(m));
  }
};

struct ForeignSpec {
  using Norm = MaxNorm;
  using Mixer = RunningAverage;
  using Ffn = ChannelFfn;
  using Residual = HalvedResidual;
  using Wiring = PreNorm;
  using InputPosition = CountedPosition;
};

/// The model of ForeignSpec in double: final hidden rows [B, T, D].
oracle::Vec foreign_model(const WeightStore& w, const std::vector<std::int32_t>& ids, index_t B,
                          index_t T, index_t D, int layers) {
  const oracle::Vec table = w.doubles("embedding");
  oracle::Vec all;
  const auto norm = [](oracle::Vec row) {
    double top = 0;
    for (const double v : row) top = std::max(top, std::abs(v));
    for (double& v : row) v /= top;
    return row;
  };
  for (index_t b = 0; b < B; ++b) {
    std::vector<oracle::Vec> averages(static_cast<std::size_t>(layers),
                                      oracle::Vec(static_cast<std::size_t>(D)));
    for (index_t t = 0; t < T; ++t) {
      const auto begin = table.begin() + ids[static_cast<std::size_t>(b * T + t)] * D;
      oracle::Vec x(begin, begin + D);
      x[0] += static_cast<double>(t);
      for (int l = 0; l < layers; ++l) {
        const std::string name = "layers." + std::to_string(l) + ".";
        oracle::Vec& average = averages[static_cast<std::size_t>(l)];
        const oracle::Vec h = norm(x);
        for (std::size_t i = 0; i < h.size(); ++i) average[i] = 0.75 * average[i] + 0.25 * h[i];
        const oracle::Vec y = oracle::linear(average, w.doubles(name + "mixer.out"), 1, D, D);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = (x[i] + y[i]) / 2;
        const oracle::Vec g = norm(x), scale = w.doubles(name + "ffn.scale");
        for (std::size_t i = 0; i < x.size(); ++i)
          x[i] = (x[i] + scale[i] * std::pow(std::max(g[i], 0.0), 3)) / 2;
      }
      const oracle::Vec h = norm(x);
      all.insert(all.end(), h.begin(), h.end());
    }
  }
  return all;
}

TEST(ForeignPolicies, MakeAModel) {
  using Model = CausalLm<ForeignSpec>;
  constexpr index_t B = 2, T = 9, D = 21;
  Model::Config c;
  c.vocabulary = 17;
  c.d_model = D;
  c.layers.resize(3);
  for (auto& layer : c.layers) layer.dims.d_model = D;
  Model::Weights w;
  WeightStore store(1);
  Model::visit(w, c, store);
  EXPECT_EQ(store.values().count("layers.2.ffn.scale"), 1u);

  std::vector<std::int32_t> ids;
  support::Random random(2);
  for (index_t i = 0; i < B * T; ++i)
    ids.push_back(static_cast<std::int32_t>(random.integer(0, 16)));
  Context<backend::SimdCpu> ctx;
  const auto run = [&](index_t chunk) {
    Model::State state(c, B, T);
    Floats hidden(static_cast<std::size_t>(B * T * D));
    for (index_t t = 0; t < T; t += chunk) {
      const index_t n = std::min(chunk, T - t);
      Floats part(static_cast<std::size_t>(B * n * D));
      const TensorView<const std::int32_t, 2> tokens(ids.data() + t, {B, n}, {T, 1});
      Model::forward(ctx, c, w, state, tokens, MatrixView<float>(part.data(), {B * n, D}));
      for (index_t b = 0; b < B; ++b)
        std::copy_n(part.begin() + b * n * D, n * D, hidden.begin() + (b * T + t) * D);
    }
    return hidden;
  };
  const Floats whole = run(T);
  EXPECT_TRUE(support::all_close_to_largest(whole, foreign_model(store, ids, B, T, D, 3), 1e-6));
  EXPECT_TRUE(same(run(1), whole));
  EXPECT_TRUE(same(run(4), whole));
}

/// Keys at even positions, and the query's own.
struct EvenKeys {
  bool keep(index_t, index_t, index_t q, index_t k) const { return k == q || k % 2 == 0; }
  TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return TileKind::partial;
  }
};
/// The further, the better.
struct Distance {
  float weight = 0.125f;
  float operator()(float s, index_t, index_t, index_t q, index_t k) const {
    return std::fma(weight, static_cast<float>(q - k), s);
  }
};
struct OddAttention : LlamaSpec {
  using Mixer = Attention<Rope, NoQkNorm, MaskAnd<CausalMask, EvenKeys>, Distance>;
};

TEST(ForeignPolicies, MaskAndScoreInABlock) {
  const BlockProblem<OddAttention> p({{20, 4, 2, 6, 0, 9}, 6}, 2, 70);
  auto o = oracle_config<OddAttention>(p.c);
  o.attention.keep = [](oracle::Index, oracle::Index, oracle::Index q, oracle::Index k) {
    return k == q || k % 2 == 0;
  };
  o.attention.bias = [](oracle::Index, oracle::Index, oracle::Index q, oracle::Index k) {
    return 0.125 * static_cast<double>(q - k);
  };
  const oracle::Vec expected =
      oracle::decoder_block({p.x.begin(), p.x.end()}, 2, 70, o, p.store.block());
  Context<backend::ScalarCpu> scalar;
  Context<backend::SimdCpu> simd(threads(2));
  const Floats whole = p.forward(simd);
  EXPECT_TRUE(support::all_close_to_largest(whole, expected, 1.5e-6));
  EXPECT_TRUE(same(p.in_chunks(simd, 1), whole));
  EXPECT_TRUE(same(p.in_chunks(simd, 7), whole));
  EXPECT_TRUE(same(p.forward(scalar), whole));
}

/// Norm x -> 3 x, mixer h -> 2 h, feed-forward h -> h + 1: wirings in small numbers.
struct Triple : NoNorm {
  static void apply(auto&, const Config&, const Weights&, MatrixView<const float> x,
                    MatrixView<float> y) {
    y(0, 0) = 3 * x(0, 0);
  }
};
struct Twice {
  struct Config {};
  struct Weights {};
  struct State {};
  static void visit(Weights&, const Config&, const Dims&, auto&&) {}
  static State make_state(const Config&, const Dims&, index_t, index_t) { return {}; }
  static void apply(auto&, const Config&, const Weights&, const Dims&, const TokenBatch&, State*,
                    MatrixView<const float> x, MatrixView<float> y) {
    y(0, 0) = 2 * x(0, 0);
  }
};
struct PlusOne {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, const Dims&, auto&&) {}
  static void apply(auto&, const Config&, const Weights&, const Dims&, MatrixView<const float> x,
                    MatrixView<float> y) {
    y(0, 0) = x(0, 0) + 1;
  }
};
template <bool Pre, bool Branch, bool Stream>
struct Wired {
  using Norm = Triple;
  using Mixer = Twice;
  using Ffn = PlusOne;
  using Residual = PlainResidual;
  using Wiring = SerialWiring<Pre, Branch, Stream>;
};
template <bool Pre, bool Branch, bool Stream>
float wired(float x) {
  using Block = DecoderBlock<Wired<Pre, Branch, Stream>>;
  typename Block::Config c;
  c.dims.d_model = 1;
  Context<backend::ScalarCpu> ctx;
  Block::forward(ctx, c, {}, TokenBatch(1, 1), nullptr, MatrixView<float>(&x, {1, 1}));
  return x;
}

TEST(SerialWiring, PutsTheNormWhereItSays) {
  // From 5: the mixer's branch, then the feed-forward's.
  EXPECT_EQ((wired<false, false, false>(5)), 15 + 16);              // 5 + 10, 15 + 16
  EXPECT_EQ((wired<true, false, false>(5)), 35 + (3 * 35 + 1));     // 5 + 30
  EXPECT_EQ((wired<false, true, false>(5)), 35 + 3 * (35 + 1));     // 5 + 3 * 10
  EXPECT_EQ((wired<false, false, true>(5)), 3 * (45 + (45 + 1)));   // 3 * (5 + 10)
  EXPECT_EQ((wired<true, true, false>(5)), 95 + 3 * (3 * 95 + 1));  // 5 + 3 * 30
}

}  // namespace
}  // namespace nn_test
