// plan: published counts, sums by hand, and what real states and passes take.
#include <gtest/gtest.h>

#include <ashlar/ashlar.hpp>
#include <ashlar/models/plan.hpp>
#include <ashlar/models/plan_rules.hpp>
#include <ashlar/models/plan_scratch.hpp>

#include "nn/weight_store.hpp"
#include "support/message.hpp"

namespace models_test {
namespace {

using namespace ashlar;

template <class Spec>
struct Sizes {
  index_t vocabulary, layers;
  Dims dims;
  bool tied = false, biases = false;

  typename CausalLm<Spec>::Config config() const {
    typename DecoderBlock<Spec>::Config layer;
    layer.dims = dims;
    layer.mixer.bias = {biases, biases, biases, biases};
    layer.ffn.bias = biases;
    if constexpr (requires { layer.mixer.position.rule; })
      layer.mixer.position.rule.width = dims.head_dim;
    typename CausalLm<Spec>::Config c;
    c.vocabulary = vocabulary;
    c.d_model = dims.d_model;
    c.tied_head = tied;
    c.layers.assign(static_cast<std::size_t>(layers), layer);
    return c;
  }
};
CausalLm<Gpt2Spec>::Config gpt2() {
  auto c = Sizes<Gpt2Spec>{50257, 12, {768, 12, 12, 64, 0, 3072}, true, true}.config();
  c.position.positions = 1024;
  return c;
}
CausalLm<LlamaSpec>::Config llama2_7b() {
  return Sizes<LlamaSpec>{32000, 32, {4096, 32, 32, 128, 0, 11008}}.config();
}
CausalLm<LlamaSpec>::Config llama3_8b() {
  return Sizes<LlamaSpec>{128256, 32, {4096, 32, 8, 128, 0, 14336}}.config();
}
CausalLm<LlamaSpec>::Config smollm2() {
  return Sizes<LlamaSpec>{49152, 30, {576, 9, 3, 64, 0, 1536}, true}.config();
}
template <class Spec>
plan::Parameters count(const typename CausalLm<Spec>::Config& c) {
  return plan::parameters<CausalLm<Spec>>(c);
}

/// Qwen 2: biases on q, k and v only. Qwen 3: a norm a head instead.
struct QkNormSpec : LlamaSpec {
  using Mixer = Attention<Rope, PerHeadNorm<RmsNorm>>;
};
/// Windows in some layers.
struct WindowSpec : LlamaSpec {
  using Mixer = Attention<Rope, NoQkNorm, SlidingWindow>;
};
template <class E>
struct CacheSpec : LlamaSpec {
  using Mixer = Attention<Rope, NoQkNorm, CausalMask, NoScore, KvCache<E>>;
};

TEST(Plan, ParametersArePublishedCounts) {
  EXPECT_EQ(count<Gpt2Spec>(gpt2()).total(), 124'439'808);
  EXPECT_EQ(count<LlamaSpec>(llama2_7b()).total(), 6'738'415'616);
  EXPECT_EQ(count<LlamaSpec>(llama3_8b()).total(), 8'030'261'248);
  EXPECT_EQ(count<LlamaSpec>(smollm2()).total(), 134'515'008);
  auto qwen2 = Sizes<LlamaSpec>{151936, 24, {896, 14, 2, 64, 0, 4864}, true}.config();
  for (auto& layer : qwen2.layers) layer.mixer.bias = {true, true, true, false};
  EXPECT_EQ(count<LlamaSpec>(qwen2).total(), 494'032'768);  // Qwen2-0.5B
  const auto qwen3 = Sizes<QkNormSpec>{151936, 28, {1024, 16, 8, 128, 0, 3072}, true}.config();
  EXPECT_EQ(count<QkNormSpec>(qwen3).total(), 596'049'920);  // Qwen3-0.6B
}

TEST(Plan, ParametersByPlace) {
  const auto tied = count<Gpt2Spec>(gpt2());
  EXPECT_EQ(tied.tables, (50257 + 1024) * 768);
  EXPECT_EQ(tied.head, 0);
  EXPECT_EQ(tied.non_embedding(), 12 * (12 * 768 * 768 + 13 * 768) + 2 * 768);
  auto c = llama3_8b();
  const auto own_head = count<LlamaSpec>(c);
  EXPECT_EQ(own_head.tables, 128256 * 4096);
  EXPECT_EQ(own_head.head, 128256 * 4096);
  c.registers = 4;
  c.head_bias = true;
  EXPECT_EQ(count<LlamaSpec>(c).tables, 128260 * 4096);
  EXPECT_EQ(count<LlamaSpec>(c).head, 128256 * 4097);
  EXPECT_EQ(count<LlamaSpec>(c).rest, own_head.rest);
}

TEST(Plan, WeightBytesCountBlocks) {
  using Lm = CausalLm<LlamaSpec>;
  const auto c = llama2_7b();
  const index_t vectors = 65 * 4096, matrices = 6'738'415'616 - vectors;
  EXPECT_EQ(plan::weight_bytes<Lm>(c, DType::f32), 4 * 6'738'415'616);
  EXPECT_EQ(plan::weight_bytes<Lm>(c, DType::bf16), 2 * matrices + 4 * vectors);
  EXPECT_EQ(plan::weight_bytes<Lm>(c, DType::q8_0), matrices / 32 * 34 + 4 * vectors);
  EXPECT_EQ(plan::weight_bytes<Lm>(c, DType::q4_k), matrices / 256 * 144 + 4 * vectors);
  const auto message =
      support::message_of<ValueError>([] { plan::weight_bytes<Lm>(smollm2(), DType::q4_k); });
  EXPECT_EQ(message,
            "weight_bytes: embedding has rows of 576 elements, expected a whole number of Q4_K "
            "blocks of 256");
}

TEST(Plan, FlopsByHand) {
  using Lm = CausalLm<Gpt2Spec>;
  const auto decode = plan::decode_flops<Lm>(gpt2(), 1024);
  EXPECT_EQ(decode.layers, 2.0 * 12 * 12 * 768 * 768);
  EXPECT_EQ(decode.head, 2.0 * 50257 * 768);
  EXPECT_EQ(decode.attention, 12 * 4.0 * 768 * 1024);
  const auto forward = plan::forward_flops<Lm>(gpt2(), 1024);
  EXPECT_EQ(forward.attention, 12 * 4.0 * 768 * 1025 / 2);  // a token sees half of the others
  EXPECT_EQ(plan::training_flops<Lm>(gpt2(), 1024).total(), 3 * forward.total());

  using Windowed = CausalLm<WindowSpec>;
  auto c = Sizes<WindowSpec>{100, 3, {64, 4, 2, 16, 24, 160}}.config();
  c.layers[1].mixer.mask = SlidingWindow{5};
  const double a_key = 2.0 * 4 * (16 + 24);
  EXPECT_EQ(plan::decode_flops<Windowed>(c, 77).attention, a_key * (77 + 5 + 77));
  // 1 + 2 + 3 + 4 keys for the first four queries, 5 for each of the others
  EXPECT_EQ(plan::forward_flops<Windowed>(c, 77).attention,
            a_key * (2 * 77 * 78 / 2 + 10 + 73 * 5) / 77);
  EXPECT_EQ(plan::decode_flops<Windowed>(c, 77).head, 2.0 * 100 * 64);
  EXPECT_EQ(plan::decode_flops<Windowed>(c, 77).layers,
            3 * 2.0 * (64 * (4 * 16 + 2 * 16 + 2 * 24 + 4 * 24) + 3 * 64 * 160));
}

/// Sees every third key; says nothing of tiles.
struct EveryThird {
  bool keep(index_t, index_t, index_t q, index_t k) const { return k <= q && k % 3 == 0; }
  TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return TileKind::partial;
  }
};

TEST(Plan, VisiblePairsOfAnyMask) {
  const auto expect_count = [](const auto& mask) {
    double pairs = 0;
    for (index_t q = 7; q < 50; ++q)
      for (index_t k = 3; k < 61; ++k) pairs += mask.keep(0, 0, q, k) ? 1 : 0;
    EXPECT_EQ(plan::visible_pairs(mask, 7, 50, 3, 61), pairs);
  };
  expect_count(CausalMask{});
  expect_count(NoMask{});
  expect_count(SlidingWindow{6});
  expect_count(EveryThird{});
  expect_count(SlidingWindow{6} | (CausalMask{} & EveryThird{}));
  EXPECT_EQ(plan::visible_pairs(NoMask{}, 5, 5, 0, 9), 0);
}

TEST(Plan, KeysAndValuesByHand) {
  using Lm = CausalLm<LlamaSpec>;
  // Llama 2 7B keeps half a MiB a token at 16 bits, Llama 3 8B a quarter of that.
  EXPECT_EQ(plan::kv_bytes<Lm>(llama2_7b(), 1, DType::f16), 512.0 * 1024);
  EXPECT_EQ(plan::kv_bytes<Lm>(llama3_8b(), 8192, DType::bf16), 1024.0 * 1024 * 1024);
  EXPECT_EQ(plan::kv_bytes<Lm>(smollm2(), 2048, DType::f32), 30.0 * 2 * 3 * 64 * 4 * 2048);
  auto c = Sizes<WindowSpec>{100, 3, {64, 4, 2, 16, 24, 160}}.config();
  c.layers[1].mixer.mask = SlidingWindow{5};
  EXPECT_EQ(plan::kv_bytes<CausalLm<WindowSpec>>(c, 77, DType::f16), 3 * 77 * 2.0 * (16 + 24) * 2);
  EXPECT_EQ(plan::kv_bytes<CausalLm<WindowSpec>>(c, 77, DType::f16, true),
            (77 + 5 + 77) * 2.0 * (16 + 24) * 2);
  c.layers[2].mixer.shared = true;
  c.state_of = {0, 1, 1};
  EXPECT_EQ(plan::kv_bytes<CausalLm<WindowSpec>>(c, 77, DType::f16), 2 * 77 * 2.0 * (16 + 24) * 2);
  EXPECT_EQ(plan::state_bytes<CausalLm<WindowSpec>>(c, 1, 100),
            2 * 128 * 2 * (16 + 32) * 4);  // whole tiles of 64 keys and strips of 32 values
}

template <class E>
void expect_state_bytes(index_t registers) {
  using Lm = CausalLm<CacheSpec<E>>;
  auto c = Sizes<CacheSpec<E>>{100, 2, {64, 4, 2, 17, 24, 160}}.config();
  c.registers = registers;
  c.context_length = 1000;
  for (const index_t capacity : {0, 1, 60, 61, 64, 65, 300, 1000})
    EXPECT_EQ(plan::state_bytes<Lm>(c, 3, capacity), typename Lm::State(c, 3, capacity).bytes())
        << capacity;
}
TEST(Plan, StateBytesAreTheStates) {
  expect_state_bytes<float>(0);
  expect_state_bytes<half>(4);
  expect_state_bytes<bfloat16>(64);
}

/// What a real forward pass on the scalar backend takes from Scratch at its peak.
template <class Spec>
index_t real_peak(const typename CausalLm<Spec>::Config& c, index_t tokens) {
  using Lm = CausalLm<Spec>;
  nn_test::WeightStore store(1);
  typename Lm::Weights w;
  Lm::visit(w, c, store);
  Context<backend::ScalarCpu> ctx;
  typename Lm::State state(c, 1, tokens);
  const std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens), 1);
  std::vector<float> hidden(static_cast<std::size_t>(tokens * c.d_model));
  Lm::forward(ctx, c, w, state, MatrixView<const std::int32_t>(ids.data(), {1, tokens}),
              MatrixView<float>(hidden.data(), {tokens, c.d_model}));
  return static_cast<index_t>(ctx.scratch().peak_bytes());
}

TEST(Plan, ScratchByHandAndByARealPass) {
  // The stream, the norm's output and the branch; and the hidden rows, or q, k, v and the mix.
  // Something empty may take 64 bytes.
  const auto expect_near = [](index_t planned, index_t floats) {
    EXPECT_GE(planned, floats * 4);
    EXPECT_LE(planned, floats * 4 + 256);
  };
  const auto c = Sizes<LlamaSpec>{100, 2, {64, 4, 2, 16, 0, 160}}.config();
  for (const index_t tokens : {16, 64, 160})
    expect_near(plan::scratch_bytes<CausalLm<LlamaSpec>>(c, tokens), tokens * (3 * 64 + 2 * 160));
  const auto wide = Sizes<LlamaSpec>{100, 2, {64, 4, 2, 32, 48, 32}}.config();
  expect_near(plan::scratch_bytes<CausalLm<LlamaSpec>>(wide, 64),
              64 * (3 * 64 + 4 * 32 + 2 * 32 + 2 * 48 + 4 * 48));
  auto gpt = Sizes<Gpt2Spec>{100, 2, {64, 4, 4, 16, 0, 256}, true, true}.config();
  gpt.position.positions = gpt.context_length = 96;  // no more rows than the table has
  expect_near(plan::scratch_bytes<CausalLm<Gpt2Spec>>(gpt, 128), 128 * (3 * 64 + 256));

  // The scalar kernels add a row for linear.
  const auto expect_between = [](index_t planned, index_t real, index_t kernel) {
    EXPECT_GE(real, planned);
    EXPECT_LE(real, planned + kernel);
  };
  expect_between(plan::scratch_bytes<CausalLm<LlamaSpec>>(c, 48), real_peak<LlamaSpec>(c, 48), 640);
  expect_between(plan::scratch_bytes<CausalLm<LlamaSpec>>(wide, 80), real_peak<LlamaSpec>(wide, 80),
                 4 * 192);
  expect_between(plan::scratch_bytes<CausalLm<Gpt2Spec>>(gpt, 96), real_peak<Gpt2Spec>(gpt, 96),
                 1024);
}

TEST(Plan, TrainingActivationsAreKorthikantis) {
  using Lm = CausalLm<Gpt2Spec>;
  const auto a = plan::training_activations<Lm>(gpt2(), 1024);
  EXPECT_EQ(a.layers, 12 * 32.0 * 768);
  EXPECT_EQ(a.scores, 12 * 2.0 * 12 * 1024);
  EXPECT_EQ(a.logits, 4.0 * 50257 + 4.0 * 768);
  // Llama: 2 norms and 2 inputs of D, q and mix of N H, k and v of K H, three hidden rows of F.
  EXPECT_EQ(plan::training_activations<CausalLm<LlamaSpec>>(llama3_8b(), 1).layers,
            32 * 2.0 * (6 * 4096 + 2 * 1024 + 3 * 14336));
}

TEST(PlanRules, FeedForwardWidths) {
  EXPECT_EQ(plan::ffn_width(768, false), 3072);    // GPT-2
  EXPECT_EQ(plan::ffn_width(4096, true), 11008);   // Llama 7B
  EXPECT_EQ(plan::ffn_width(5120, true), 13824);   // Llama 13B
  EXPECT_EQ(plan::ffn_width(8192, true), 22016);   // Llama 65B
  EXPECT_EQ(plan::ffn_width(576, true, 1), 1536);  // SmolLM2
  EXPECT_EQ(plan::padded_vocabulary(50257), 50304);
  EXPECT_EQ(support::message_of<ValueError>([] { plan::ffn_width(0, true); }),
            "ffn_width: width 0 and multiple 256, expected at least 1");
}

TEST(PlanRules, ScalingLaws) {
  // Chinchilla's own compute, 5.76e23: 67e9 parameters and 1.5e12 tokens by its first approach.
  const auto best = plan::chinchilla(5.76e23);
  EXPECT_NEAR(best.parameters, 67e9, 5e9);
  EXPECT_NEAR(best.tokens, 1.5e12, 0.15e12);
  EXPECT_NEAR(plan::training_compute(best.parameters, best.tokens), 5.76e23, 1e15);
  // GPT-3 175B on 300e9 tokens: 3.14e23 (Brown et al. 2020, table D.1).
  EXPECT_NEAR(plan::training_compute(174.6e9, 300e9), 3.14e23, 0.01e23);
  EXPECT_NEAR(plan::kaplan(8.64e19).parameters, 1.3e9, 1);
  EXPECT_NEAR(plan::kaplan(8.64e21).parameters / 1.3e9, 28.84, 0.01);  // 100^0.73
  EXPECT_NEAR(plan::kaplan(8.64e19).tokens, 1.1077e10, 1e6);           // C / (6 N)
  // Chinchilla 70B is better than Gopher 280B on 300e9 tokens at the same cost.
  EXPECT_NEAR(plan::chinchilla_loss(70e9, 1.4e12), 1.936, 0.002);
  EXPECT_NEAR(plan::chinchilla_loss(280e9, 300e9), 1.993, 0.002);
  EXPECT_NEAR(plan::learning_rate(85e6), 6.92e-4, 0.05e-4);  // GPT-3 small used 6e-4
  EXPECT_EQ(plan::dropout(1), 0.0);
  EXPECT_EQ(plan::dropout(40), 0.1);
}

TEST(PlanRules, ProposedShapesKeepTheRules) {
  for (const double wanted : {30e6, 135e6, 1e9, 7e9, 70e9, 400e9}) {
    const plan::Shape s = plan::propose(wanted);
    EXPECT_EQ(s.n_heads * s.head_dim, s.d_model) << wanted;
    EXPECT_EQ(s.n_heads % s.n_kv_heads, 0) << wanted;
    EXPECT_GE(s.ffn_ratio(), 8.0 / 3) << wanted;
    EXPECT_LE(s.ffn_ratio(), 3.0) << wanted;
    if (wanted >= 1e9) {
      EXPECT_GE(s.aspect(), plan::least_aspect) << wanted;
      EXPECT_LE(s.aspect(), plan::most_aspect) << wanted;
    }
    const auto exact = count<LlamaSpec>(
        Sizes<LlamaSpec>{s.vocabulary,
                         s.layers,
                         {s.d_model, s.n_heads, s.n_kv_heads, s.head_dim, 0, s.d_ff},
                         s.tied_head}
            .config());
    EXPECT_NEAR(static_cast<double>(exact.total()) / wanted, 1, 0.05) << wanted;
    EXPECT_EQ(static_cast<double>(exact.total()), plan::estimated_parameters(s)) << wanted;
  }
  EXPECT_TRUE(plan::propose(100e6).tied_head);
  EXPECT_FALSE(plan::propose(70e9).tied_head);
  const plan::Shape plain = plan::propose(1e9, {.gated = false, .query_heads_per_kv_head = 1});
  EXPECT_EQ(plain.d_ff, 4 * plain.d_model);
  EXPECT_EQ(plain.n_kv_heads, plain.n_heads);
  EXPECT_EQ(support::message_of<ValueError>([] { plan::propose(1000); }),
            "propose: 1000 parameters with a vocabulary of 49152; the smallest shape has 3252544");
}

}  // namespace
}  // namespace models_test
