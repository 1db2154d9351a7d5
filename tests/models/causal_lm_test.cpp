// Whole models: against the oracle, cut in every way, with registers, and what they refuse.
#include <gtest/gtest.h>

#include <ashlar/eigen.hpp>

#include "nn/blocks.hpp"
#include "support/message.hpp"

namespace models_test {
namespace {

using namespace ashlar;
using nn_test::Floats;
using nn_test::same;
using nn_test::threads;
using support::message_of;
using Ids = std::vector<std::int32_t>;

/// Three layers that differ in a number or two, B sequences of T tokens.
template <class Spec>
struct Problem {
  using Model = CausalLm<Spec>;

  Problem(index_t batch, index_t count, index_t registers, bool tied, std::uint64_t salt)
      : store(salt), B(batch), T(count) {
    nn_test::Sizes s{{33, 6, 2, 7, 5, 17}, 4, RopePairing::interleaved, true, 20};
    for (const index_t rotary : {4, 0, 6}) {  // the second layer has no positions
      s.rotary = rotary;
      s.dims.d_ff += 3;
      c.layers.push_back(nn_test::block_config<Spec>(s));
    }
    c.vocabulary = 29;
    c.d_model = s.dims.d_model;
    c.context_length = 400;
    c.registers = registers;
    c.tied_head = tied;
    c.head_bias = !tied;
    if constexpr (requires { c.position.positions; }) c.position.positions = 400;
    Model::visit(w, c, store);
    support::Random random(salt + 1);
    for (index_t i = 0; i < B * T; ++i)
      ids.push_back(static_cast<std::int32_t>(random.integer(0, c.vocabulary - 1)));
  }

  /// Hidden rows and logits of all tokens, in chunks through `state`.
  struct Result {
    Floats hidden, logits;
  };
  template <class Backend>
  Result run(Context<Backend>& ctx, index_t chunk, typename Model::State& state) const {
    const index_t D = c.d_model, V = c.vocabulary;
    Result r{Floats(static_cast<std::size_t>(B * T * D)),
             Floats(static_cast<std::size_t>(B * T * V))};
    for (index_t t = 0; t < T; t += chunk) {
      const index_t n = std::min(chunk, T - t);
      Floats hidden(static_cast<std::size_t>(B * n * D)),
          logits(static_cast<std::size_t>(B * n * V));
      const MatrixView<float> h(hidden.data(), {B * n, D});
      Model::forward(ctx, c, w, state, tokens(t, n), h);
      Model::head(ctx, c, w, MatrixView<const float>(h), {logits.data(), {B * n, V}});
      for (index_t b = 0; b < B; ++b) {
        std::copy_n(hidden.begin() + b * n * D, n * D, r.hidden.begin() + (b * T + t) * D);
        std::copy_n(logits.begin() + b * n * V, n * V, r.logits.begin() + (b * T + t) * V);
      }
    }
    return r;
  }
  template <class Backend>
  Result run(Context<Backend>& ctx, index_t chunk) const {
    typename Model::State state(c, B, T);
    return run(ctx, chunk, state);
  }
  MatrixView<const std::int32_t> tokens(index_t first, index_t count) const {
    return {ids.data() + first, {B, count}, {T, 1}};
  }

  /// Registers are to the oracle words of their own in front, at position 0 like the first token.
  oracle::Vec expected_logits() const {
    const index_t R = c.registers, V = c.vocabulary, D = c.d_model, all = R + T;
    oracle::ModelWeights m;
    m.tokens = store.doubles("embedding");
    const oracle::Vec registers = store.doubles("registers"),
                      table = store.doubles("position.table");
    m.tokens.insert(m.tokens.end(), registers.begin(), registers.end());
    if (!table.empty()) {
      m.positions.assign(static_cast<std::size_t>(R * D), 0.0);
      m.positions.insert(m.positions.end(), table.begin(), table.end());
    }
    m.final_norm = store.norm("final_norm");
    m.head = c.tied_head ? store.doubles("embedding") : store.doubles("head");
    m.head.resize(m.tokens.size());  // the oracle has a logit for every word, registers too
    for (std::size_t i = 0; i < c.layers.size(); ++i)
      m.layers.push_back(store.block("layers." + std::to_string(i) + "."));
    std::vector<oracle::Index> words, positions;
    for (index_t i = 0; i < all; ++i) positions.push_back(std::max<index_t>(i - R, 0));
    for (index_t b = 0; b < B; ++b) {
      for (index_t r = 0; r < R; ++r) words.push_back(V + r);
      for (index_t t = 0; t < T; ++t) words.push_back(ids[static_cast<std::size_t>(b * T + t)]);
    }
    const auto result = oracle::causal_lm(words, B, all, m, [&](oracle::Index layer) {
      auto block = nn_test::oracle_config<Spec>(c.layers[static_cast<std::size_t>(layer)]);
      block.positions = positions;
      return block;
    });
    const oracle::Vec bias = store.doubles("head_bias");
    oracle::Vec logits;
    for (index_t row = 0; row < B * all; ++row)
      for (index_t i = 0; i < V && row % all >= R; ++i)
        logits.push_back(result.logits[static_cast<std::size_t>(row * (V + R) + i)] +
                         (bias.empty() ? 0.0 : bias[static_cast<std::size_t>(i)]));
    return logits;
  }

  typename Model::Config c;
  typename Model::Weights w;
  nn_test::WeightStore store;
  index_t B, T;
  Ids ids;
};

template <class Spec>
class CausalLmOf : public testing::Test {};
using Specs = testing::Types<LlamaSpec, Gpt2Spec, NineSwapsSpec, nn_test::OwnSpec>;
TYPED_TEST_SUITE(CausalLmOf, Specs);

TYPED_TEST(CausalLmOf, AgreesWithTheOracle) {
  for (const index_t registers : {0, 3}) {
    const Problem<TypeParam> p(2, 70, registers, registers == 0, 1);
    const oracle::Vec expected = p.expected_logits();
    Context<backend::ScalarCpu> scalar;
    Context<backend::SimdCpu> simd;
    Context<backend::EigenCpu> eigen;
    SCOPED_TRACE(testing::Message() << registers << " registers");
    const auto got = p.run(scalar, 70);
    EXPECT_TRUE(support::all_close_to_largest(got.logits, expected, 3e-6)) << "scalar";
    EXPECT_LE(support::normalised_square_error(got.logits, expected), 1e-12);
    EXPECT_TRUE(support::all_close_to_largest(p.run(eigen, 70).logits, expected, 6e-6)) << "eigen";
    const auto fast = p.run(simd, 70);
    EXPECT_TRUE(support::all_close_to_largest(fast.logits, expected, 3e-6)) << "simd";
    EXPECT_TRUE(same(fast.logits, got.logits)) << "simd";
  }
}

TYPED_TEST(CausalLmOf, GivesTheSameBitsHoweverItIsRun) {
  for (const index_t registers : {0, 5}) {
    const Problem<TypeParam> p(2, 131, registers, false, 2);
    SCOPED_TRACE(testing::Message() << registers << " registers");
    Context<backend::SimdCpu> one;
    const auto whole = p.run(one, 131);
    for (const int workers : {1, 2, 3}) {
      Context<backend::SimdCpu> ctx(threads(workers));
      for (const index_t chunk : {1, 7, 64, 131}) {
        if (workers == 3 && chunk < 64) continue;  // threads are dear
        const auto got = p.run(ctx, chunk);
        EXPECT_TRUE(same(got.logits, whole.logits)) << chunk << " on " << workers;
        EXPECT_TRUE(same(got.hidden, whole.hidden)) << chunk << " on " << workers;
      }
    }
    for (index_t b = 0; b < 2; ++b) {
      Problem<TypeParam> alone(1, 131, registers, false, 2);
      alone.ids.assign(p.ids.begin() + b * 131, p.ids.begin() + (b + 1) * 131);
      const std::size_t n = whole.logits.size() / 2, first = static_cast<std::size_t>(b) * n;
      EXPECT_TRUE(same(alone.run(one, 131).logits, std::span(whole.logits).subspan(first, n)))
          << "sequence " << b << " alone";
    }
    std::printf("hash %016llx\n",
                static_cast<unsigned long long>(support::hash_bits(whole.logits)));
  }
}

TYPED_TEST(CausalLmOf, ForgetsWhatIsTruncated) {
  for (const index_t registers : {0, 2}) {
    const Problem<TypeParam> p(2, 40, registers, false, 3), q(2, 40, registers, false, 4);
    Context<backend::SimdCpu> ctx;
    typename Problem<TypeParam>::Model::State state(p.c, 2, 40);
    const auto fresh = p.run(ctx, 40, state);
    EXPECT_EQ(state.length(), 40);
    // The last 17 tokens again, on what is left of the first 23; then another text from the start.
    state.truncate(23);
    EXPECT_EQ(state.length(), 23);
    Floats hidden(static_cast<std::size_t>(2 * 17 * p.c.d_model));
    Problem<TypeParam>::Model::forward(ctx, p.c, p.w, state, p.tokens(23, 17),
                                       MatrixView<float>(hidden.data(), {34, p.c.d_model}));
    const auto rest = static_cast<std::size_t>(17 * p.c.d_model);
    EXPECT_TRUE(same(std::span(hidden).first(rest),
                     std::span(fresh.hidden).subspan(fresh.hidden.size() / 2 - rest, rest)));
    EXPECT_TRUE(same(std::span(hidden).last(rest), std::span(fresh.hidden).last(rest)));
    state.truncate(0);
    Problem<TypeParam> other = p;  // the weights of p, the words of q
    other.ids = q.ids;
    EXPECT_TRUE(same(other.run(ctx, 7, state).logits, other.run(ctx, 40).logits));
  }
}

using Llama = CausalLm<LlamaSpec>;

TEST(CausalLm, RefusesAndStaysAsItWas) {
  Problem<LlamaSpec> p(2, 12, 2, false, 5);
  Context<backend::SimdCpu> ctx;
  const auto expected = p.run(ctx, 12);
  Llama::State state(p.c, 2, 12);
  const index_t D = p.c.d_model;
  Floats out(static_cast<std::size_t>(2 * 13 * D));
  const auto hidden = [&](index_t rows) { return MatrixView<float>(out.data(), {rows, D}); };
  Llama::forward(ctx, p.c, p.w, state, p.tokens(0, 5), hidden(10));

  const auto forward = [&](MatrixView<const std::int32_t> tokens, MatrixView<float> h) {
    return [&, tokens, h] { Llama::forward(ctx, p.c, p.w, state, tokens, h); };
  };
  const Ids wrong = {0, 29, 0, -1}, many(26, 1);
  EXPECT_EQ(message_of<ValueError>(forward({wrong.data(), {2, 2}}, hidden(4))),
            "CausalLm: token 1 of sequence 0 is 29, expected 0 to 28");
  EXPECT_EQ(message_of<ValueError>(forward({wrong.data() + 2, {2, 1}}, hidden(2))),
            "CausalLm: token 0 of sequence 1 is -1, expected 0 to 28");
  EXPECT_EQ(message_of<ValueError>(forward({many.data(), {2, 8}}, hidden(16))),
            "CausalLm: 8 tokens after 5 do not fit the capacity of 12");
  EXPECT_EQ(message_of<ShapeError>(forward({many.data(), {3, 1}}, hidden(3))),
            "CausalLm: tokens has shape [3, 1], expected [2, 1]");
  EXPECT_EQ(message_of<ShapeError>(forward({many.data(), {2, 3}}, hidden(5))),
            "CausalLm: hidden has shape [5, 33], expected [6, 33]");
  EXPECT_EQ(message_of<ValueError>([&] { state.truncate(-1); }),
            "CausalLm: length is -1, expected at least 0");
  forward({many.data(), {2, 0}}, hidden(0))();  // no token is fine
  EXPECT_EQ(state.length(), 5);

  Floats logits(29);
  EXPECT_EQ(
      message_of<ShapeError>([&] {
        Llama::head(ctx, p.c, p.w, MatrixView<const float>(hidden(1)), {logits.data(), {1, 28}});
      }),
      "linear: y has shape [1, 28], expected [1, 29]");
  EXPECT_EQ(message_of<ShapeError>([&] {
              Llama::forward(ctx, p.c, Llama::Weights{}, state, {many.data(), {2, 1}}, hidden(2));
            }),
            "CausalLm: weights of 0 layers and a state of 3, expected 3");

  // After all that the rest is as if nothing had happened.
  Llama::forward(ctx, p.c, p.w, state, p.tokens(5, 7), hidden(14));
  const auto n = static_cast<std::size_t>(7 * D);
  EXPECT_TRUE(same(std::span(out).subspan(n, n), std::span(expected.hidden).last(n)));
}

TEST(CausalLm, AnErrorInALayerLeavesTheStateAsItWas) {
  const Problem<LlamaSpec> p(2, 12, 2, false, 6);
  Context<backend::SimdCpu> ctx;
  const auto expected = p.run(ctx, 12);
  for (const index_t first : {0, 5}) {
    Llama::State state(p.c, 2, 12);
    Floats out(static_cast<std::size_t>(2 * 12 * p.c.d_model));
    const auto hidden = [&](index_t rows) {
      return MatrixView<float>(out.data(), {rows, p.c.d_model});
    };
    Llama::forward(ctx, p.c, p.w, state, p.tokens(0, first), hidden(2 * first));
    const auto stop = [](index_t layer, MatrixView<const float>) {
      if (layer == 2) throw std::runtime_error("enough");
    };
    EXPECT_THROW(Llama::forward(ctx, p.c, p.w, state, p.tokens(first, 3), hidden(6), stop),
                 std::runtime_error);
    EXPECT_EQ(state.length(), first);
    Llama::forward(ctx, p.c, p.w, state, p.tokens(first, 12 - first), hidden(2 * (12 - first)));
    const auto n = static_cast<std::size_t>((12 - first) * p.c.d_model);
    EXPECT_TRUE(same(std::span(out).subspan(n, n), std::span(expected.hidden).last(n)));
  }
}

TEST(CausalLm, RefusesImpossibleStates) {
  const Problem<LlamaSpec> p(1, 1, 0, false, 7);
  EXPECT_EQ(message_of<ValueError>([&] { Llama::State(p.c, 1, 401); }),
            "CausalLm: capacity of 401 tokens is beyond the model's context of 400");
  EXPECT_EQ(message_of<ValueError>([&] { Llama::State(p.c, 0, 4); }),
            "CausalLm: state for 0 sequences of 4 tokens");
  EXPECT_EQ(message_of<ValueError>([&] { Llama::State(p.c, 1, -4); }),
            "CausalLm: state for 1 sequences of -4 tokens");
}

TEST(CausalLm, RefusesAPositionThatWasNeverLearned) {
  Problem<Gpt2Spec> p(1, 8, 0, false, 8);
  p.c.position.positions = 6;
  p.c.context_length = 0;
  Context<backend::ScalarCpu> ctx;
  CausalLm<Gpt2Spec>::Weights w;
  CausalLm<Gpt2Spec>::visit(w, p.c, p.store);
  p.w = w;
  EXPECT_EQ(message_of<ValueError>([&] { p.run(ctx, 3); }),
            "LearnedPosition: position 6, expected 0 to 5");
}

TEST(CausalLm, ShowsTheStreamThatEntersEachLayer) {
  const Problem<NineSwapsSpec> p(2, 4, 3, false, 9);
  using Model = CausalLm<NineSwapsSpec>;
  Context<backend::ScalarCpu> ctx;
  Model::State state(p.c, 2, 4);
  Floats out(static_cast<std::size_t>(2 * 4 * p.c.d_model));
  std::vector<index_t> layers;
  const auto observe = [&](index_t layer, MatrixView<const float> x) {
    layers.push_back(layer);
    EXPECT_EQ(x.extent(0), 2 * (3 + 4));
    if (layer != 0) return;
    EXPECT_EQ(x(1, 2), p.store.values().at("registers")[static_cast<std::size_t>(p.c.d_model + 2)]);
    EXPECT_EQ(x(3, 2), p.store.values().at(
                           "embedding")[static_cast<std::size_t>(p.ids[0] * p.c.d_model + 2)]);
  };
  Model::forward(ctx, p.c, p.w, state, p.tokens(0, 4),
                 MatrixView<float>(out.data(), {8, p.c.d_model}), observe);
  EXPECT_EQ(layers, (std::vector<index_t>{0, 1, 2}));
}

}  // namespace
}  // namespace models_test
