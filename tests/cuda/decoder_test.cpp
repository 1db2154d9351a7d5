// Whole decoders on the emulated device: the same specs and weights as on the host, and the same
// numbers but for the order of sums and the rounding to T.
#include <gtest/gtest.h>

#include <algorithm>
#include <ashlar/cuda/sample_launch.hpp>
#include <ashlar/cuda/upload.hpp>
#include <ashlar/models/cuda/decoder.hpp>
#include <ashlar/models/cuda/workspace.hpp>
#include <ashlar/nn/norm/qk_norm.hpp>
#include <ashlar/nn/specs.hpp>
#include <ashlar/ops/rope_scaling.hpp>
#include <deque>

#include "emulation/context.hpp"
#include "support/message.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;
using Gpu = Context<backend::CudaGpu>;

constexpr index_t vocabulary = 61, d_model = 64, capacity = 40;

/// A model of two layers with random weights, on the host.
template <class Spec>
struct SmallModel {
  using Lm = CausalLm<Spec>;
  typename Lm::Config config;
  typename Lm::Weights weights;
  std::deque<std::vector<float>> memory;

  explicit SmallModel(index_t kv_heads) {
    config.vocabulary = vocabulary;
    config.d_model = d_model;
    config.context_length = capacity;
    typename Lm::Block::Config layer;
    layer.dims = {
        .d_model = d_model, .n_heads = 4, .n_kv_heads = kv_heads, .head_dim = 16, .d_ff = 96};
    if constexpr (requires { layer.mixer.position.rule; }) layer.mixer.position.rule = {10000., 16};
    if constexpr (requires { config.position.positions; }) config.position.positions = capacity;
    config.layers.assign(2, layer);
    support::Random random(11);
    Lm::visit(weights, config, [&](std::string_view, auto& view, std::initializer_list<index_t> e) {
      const index_t rows = e.begin()[0], columns = e.size() == 2 ? e.begin()[1] : 1;
      auto& x = memory.emplace_back(static_cast<std::size_t>(rows * columns));
      const double spread = e.size() == 2 ? 1 / std::sqrt(double(columns)) : 0.1;
      for (float& v : x) v = static_cast<float>(random.normal(spread, e.size() == 2 ? 0 : 1));
      if constexpr (std::is_same_v<std::decay_t<decltype(view)>, WeightMatrix>)
        view = MatrixView<float>(x.data(), {rows, columns});
      else
        view = {x.data(), {rows}};
    });
  }
};

/// Logits of all positions, the calls cut as `calls` says.
template <class Spec>
std::vector<float> on_host(SmallModel<Spec>& model, const std::vector<std::int32_t>& tokens,
                           index_t batch) {
  using Lm = CausalLm<Spec>;
  const index_t T = static_cast<index_t>(tokens.size()) / batch;
  Context<backend::ScalarCpu> ctx;
  typename Lm::State state(model.config, batch, capacity);
  std::vector<float> hidden(static_cast<std::size_t>(batch * T * d_model)),
      logits(static_cast<std::size_t>(batch * T * vocabulary));
  Lm::forward(ctx, model.config, model.weights, state,
              MatrixView<const std::int32_t>(tokens.data(), {batch, T}),
              MatrixView<float>(hidden.data(), {batch * T, d_model}));
  Lm::head(ctx, model.config, model.weights,
           MatrixView<const float>(hidden.data(), {batch * T, d_model}),
           {logits.data(), {batch * T, vocabulary}});
  return logits;
}

template <class T, class Spec>
std::vector<float> on_device(SmallModel<Spec>& model, const std::vector<std::int32_t>& tokens,
                             index_t batch, const std::vector<index_t>& calls) {
  using Lm = CausalLm<Spec>;
  const index_t all = static_cast<index_t>(tokens.size()) / batch;
  const cuda::Device device = emulation::host_device();
  auto weights = model.weights;
  const auto memory = cuda::upload(device, nullptr, Executor{},
                                   [&](auto&& f) { Lm::visit(weights, model.config, f); });
  index_t most = 0;
  for (const index_t count : calls) most = std::max(most, batch * count);
  const index_t bytes = cuda::decoder_workspace_bytes<T>(model.config, batch, capacity, most);
  cuda::DeviceBuffer<std::byte> workspace(device, bytes);
  Gpu ctx(device, nullptr, workspace.data(), static_cast<std::size_t>(bytes));
  cuda::DecoderState<Lm, T> state(device, nullptr, model.config, batch, capacity, 32);
  std::vector<float> logits(static_cast<std::size_t>(batch * all * vocabulary));
  index_t at = 0;
  for (const index_t count : calls) {
    std::vector<std::int32_t> ids;
    for (index_t b = 0; b < batch; ++b)
      for (index_t t = 0; t < count; ++t)
        ids.push_back(tokens[static_cast<std::size_t>(b * all + at + t)]);
    std::vector<T> hidden(static_cast<std::size_t>(batch * count * d_model)),
        out(static_cast<std::size_t>(batch * count * vocabulary));
    const MatrixView<T> h(hidden.data(), {batch * count, d_model});
    cuda::forward(ctx, model.config, weights, state,
                  MatrixView<const std::int32_t>(ids.data(), {batch, count}), h);
    Lm::head(ctx, model.config, weights, MatrixView<const T>(h),
             {out.data(), {batch * count, vocabulary}});
    for (index_t b = 0; b < batch; ++b)
      for (index_t i = 0; i < count * vocabulary; ++i)
        logits[static_cast<std::size_t>((b * all + at) * vocabulary + i)] =
            static_cast<float>(out[static_cast<std::size_t>(b * count * vocabulary + i)]);
    at += count;
  }
  // The slack: 32 MiB for cuBLASLt, and pieces that begin at multiples of 256 bytes.
  EXPECT_LT(bytes, static_cast<index_t>(ctx.scratch().peak_bytes()) + (index_t{33} << 20));
  EXPECT_EQ(at, all);
  EXPECT_EQ(state.length(), all);
  for (index_t b = 0; b < batch; ++b) EXPECT_EQ(state.lengths()[b], all);
  return logits;
}

std::vector<std::int32_t> some_tokens(index_t count) {
  std::vector<std::int32_t> tokens;
  for (index_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<std::int32_t>((i * 37 + 5) % vocabulary));
  return tokens;
}

float distance(const std::vector<float>& a, const std::vector<float>& b) {
  float most = a.size() == b.size() ? 0.f : HUGE_VALF;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float d = std::fabs(a[i] - b[i]);
    if (!(d <= most)) most = d;
  }
  return most;
}

/// A prompt in one call, then in chunks of many rows, few rows and one.
template <class Spec>
void expect_same_logits(index_t kv_heads) {
  SmallModel<Spec> model(kv_heads);
  const auto tokens = some_tokens(2 * 19);
  const auto expected = on_host(model, tokens, 2);
  EXPECT_LT(distance(on_device<float>(model, tokens, 2, {19}), expected), 2e-5f);
  EXPECT_LT(distance(on_device<float>(model, tokens, 2, {11, 4, 1, 1, 2}), expected), 2e-5f);
  EXPECT_LT(distance(on_device<half>(model, tokens, 2, {16, 1, 2}), expected), 2e-2f);
  EXPECT_LT(distance(on_device<bfloat16>(model, tokens, 2, {16, 1, 2}), expected), 1.5e-1f);
}

/// The nine swaps without registers: QK-norm and LayerScale.
struct ScaledSpec : LlamaSpec {
  using Mixer = Attention<Rope, PerHeadNorm<RmsNorm>>;
  using Residual = LayerScale;
};

/// Tokens that the device draws and runs without the host are those of the host.
TEST(DeviceDecoder, DrawsTheHostsGreedyTokens) {
  using Lm = CausalLm<ScaledSpec>;
  SmallModel<ScaledSpec> model(2);
  std::vector<std::int32_t> sequence = some_tokens(5);
  const cuda::Device device = emulation::host_device();
  auto weights = model.weights;
  const auto memory = cuda::upload(device, nullptr, Executor{},
                                   [&](auto&& f) { Lm::visit(weights, model.config, f); });
  constexpr index_t workspace_bytes = index_t{2} << 20;
  cuda::DeviceBuffer<std::byte> workspace(device, workspace_bytes);
  Gpu ctx(device, nullptr, workspace.data(), static_cast<std::size_t>(workspace_bytes));
  cuda::DecoderState<Lm, float> state(device, nullptr, model.config, 1, capacity, 8);
  std::vector<float> hidden(8 * d_model), logits(vocabulary);
  std::vector<std::int32_t> tokens = sequence;
  const cuda::SampleOptions options{0.f};
  for (index_t count = 5; sequence.size() < 15; count = 1) {
    cuda::forward(ctx, model.config, weights, state,
                  MatrixView<const std::int32_t>(tokens.data(), {1, count}),
                  MatrixView<float>(hidden.data(), {count, d_model}));
    const float* last = hidden.data() + (count - 1) * d_model;
    const MatrixView<float> row(logits.data(), {1, vocabulary});
    Lm::head(ctx, model.config, weights, MatrixView<const float>(last, {1, d_model}), row);
    cuda::sample<float>(ctx, row, {&options, {1}},
                        {reinterpret_cast<const std::uint64_t*>(state.lengths()), {1}},
                        {tokens.data(), {1}});
    const std::vector<float> all = on_host(model, sequence, 1);
    const auto begin = all.end() - vocabulary;
    ASSERT_EQ(tokens[0], std::max_element(begin, all.end()) - begin);
    sequence.push_back(tokens[0]);
  }
}

TEST(DeviceDecoder, ForgetsAndChecks) {
  using Lm = CausalLm<LlamaSpec>;
  SmallModel<LlamaSpec> model(2);
  const cuda::Device device = emulation::host_device();
  const auto message = [&](index_t batch, index_t room, auto change) {
    auto config = model.config;
    change(config);
    return support::message_of<ValueError>(
        [&] { cuda::DecoderState<Lm, float>(device, nullptr, config, batch, room, 4); });
  };
  EXPECT_NE(message(1, capacity + 1, [](auto&) {}).find("beyond the model's context of 40"),
            std::string::npos);
  EXPECT_NE(message(0, 4, [](auto&) {}).find("0 sequences of 4 tokens"), std::string::npos);
  EXPECT_NE(message(1, 4, [](auto& c) { c.registers = 2; }).find("not available on a device"),
            std::string::npos);
  EXPECT_NE(
      message(1, 4,
              [](auto& c) { c.layers[0].mixer.position.rule.scaling = rope_scaling::Dynamic{}; })
          .find("dynamic NTK"),
      std::string::npos);

  cuda::DecoderState<Lm, float> state(device, nullptr, model.config, 2, 10, 4);
  auto weights = model.weights;
  const auto memory = cuda::upload(device, nullptr, Executor{},
                                   [&](auto&& f) { Lm::visit(weights, model.config, f); });
  cuda::DeviceBuffer<std::byte> workspace(device, index_t{1} << 20);
  Gpu ctx(device, nullptr, workspace.data(), std::size_t{1} << 20);
  const auto tokens = some_tokens(8);
  std::vector<float> first(8 * d_model), again(8 * d_model);
  const auto run = [&](index_t count, std::vector<float>& hidden) {
    cuda::forward(ctx, model.config, weights, state,
                  MatrixView<const std::int32_t>(tokens.data(), {2, count}),
                  MatrixView<float>(hidden.data(), {2 * count, d_model}));
  };
  run(4, first);
  run(3, again);
  const std::string full = support::message_of<ValueError>([&] { run(4, again); });
  EXPECT_NE(full.find("4 tokens after 7 do not fit the capacity of 10"), std::string::npos) << full;
  EXPECT_EQ(state.length(), 7);
  state.truncate(0);
  run(4, again);
  EXPECT_EQ(first, again);  // bit by bit
  // A token outside the vocabulary reads nothing and does not go unseen.
  const std::vector<std::int32_t> wrong = {vocabulary, 1};
  cuda::forward(ctx, model.config, weights, state,
                MatrixView<const std::int32_t>(wrong.data(), {2, 1}),
                MatrixView<float>(again.data(), {2, d_model}));
  EXPECT_TRUE(std::isnan(again[0]));
  EXPECT_FALSE(std::isnan(again[d_model]));
}

TEST(DeviceDecoder, LlamaGivesTheHostsLogits) { expect_same_logits<LlamaSpec>(2); }
TEST(DeviceDecoder, Gpt2GivesTheHostsLogits) { expect_same_logits<Gpt2Spec>(4); }
TEST(DeviceDecoder, PalmGivesTheHostsLogits) { expect_same_logits<PalmSpec>(1); }

}  // namespace
