// SmolLM2-135M from its real file, wholly on the emulated device: the tokens of the golden values.
#include <gtest/gtest.h>

#include <ashlar/cuda/sample_launch.hpp>
#include <ashlar/cuda/upload.hpp>
#include <ashlar/models/cuda/decoder.hpp>
#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/llama.hpp>
#include <cstdlib>

#include "emulation/context.hpp"
#include "golden/case.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar;
using Lm = LlamaFamily::Lm;

struct Made {
  std::vector<std::int32_t> tokens;
  std::vector<float> logits;  // after the prompt
};

/// The prompt in one call, then tokens that are drawn and run on the device.
template <class T>
Made greedy(const Lm::Config& config, const Lm::Weights& weights, std::vector<std::int32_t> tokens,
            index_t count) {
  const cuda::Device device = emulation::host_device();
  const index_t length = static_cast<index_t>(tokens.size()), V = config.vocabulary;
  cuda::DecoderState<Lm, T> state(device, nullptr, config, 1, length + count, length);
  constexpr index_t bytes = index_t{96} << 20;
  const cuda::DeviceBuffer<std::byte> workspace(device, bytes);
  Context<backend::CudaGpu> ctx(device, nullptr, workspace.data(), static_cast<std::size_t>(bytes));
  const cuda::DeviceBuffer<T> hidden(device, length * config.d_model), logits(device, V);
  const cuda::SampleOptions options{0.f};
  Made made;
  for (index_t rows = length; static_cast<index_t>(made.tokens.size()) < count; rows = 1) {
    const MatrixView<T> h(hidden.data(), {rows, config.d_model}), row(logits.data(), {1, V});
    cuda::forward(ctx, config, weights, state,
                  MatrixView<const std::int32_t>(tokens.data(), {1, rows}), h);
    Lm::head(ctx, config, weights, MatrixView<const T>(h.slice(0, rows - 1, rows)), row);
    const auto* steps = reinterpret_cast<const std::uint64_t*>(state.lengths());
    cuda::sample<T>(ctx, MatrixView<const T>(row), {&options, {1}}, {steps, {1}},
                    {tokens.data(), {1}});
    if (made.tokens.empty()) made.logits.assign(logits.data(), logits.data() + V);
    made.tokens.push_back(tokens[0]);
  }
  return made;
}

TEST(RealModel, SmolLm2OnTheEmulatedDeviceGivesTheGoldenTokens) {
  const char* path = std::getenv("ASHLAR_SMOLLM2");
  if (!path) GTEST_SKIP() << "ASHLAR_SMOLLM2 does not name the model file";
  const SafetensorsFile expected(ASHLAR_TEST_DATA "/real/smollm2.safetensors");
  const auto ids = golden::read_values<std::int32_t>(expected.at("prompt0.input_ids"));
  const auto continuation = golden::read_values<std::int64_t>(expected.at("prompt0.continuation"));
  const auto logits = golden::read_values<float>(expected.at("prompt0.logits"));
  auto model = load_model<LlamaFamily>(Checkpoint(path));
  const auto memory = cuda::upload(emulation::host_device(), nullptr, Executor{},
                                   [&](auto&& f) { Lm::visit(model.weights, model.config, f); });
  const Made exact = greedy<float>(model.config, model.weights, ids, 3);
  EXPECT_TRUE(support::all_close(std::span<const float>(exact.logits), logits, 1e-3));
  for (std::size_t i = 0; i < exact.tokens.size(); ++i) EXPECT_EQ(exact.tokens[i], continuation[i]);
  const Made rounded = greedy<half>(model.config, model.weights, ids, 2);
  EXPECT_TRUE(support::all_close(std::span<const float>(rounded.logits), logits, 0.1));
  for (std::size_t i = 0; i < rounded.tokens.size(); ++i)
    EXPECT_EQ(rounded.tokens[i], continuation[i]);
}

}  // namespace
