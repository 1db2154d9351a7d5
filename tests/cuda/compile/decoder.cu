// The program of docs/cuda.md that runs a whole model.
#include <ashlar/cuda.cuh>
#include <ashlar/cuda/graph.cuh>
#include <ashlar/cuda/product.cuh>
#include <ashlar/cuda/upload.hpp>
#include <ashlar/models/cuda/decoder.hpp>
#include <ashlar/models/cuda/workspace.hpp>
#include <ashlar/nn/specs.hpp>

using namespace ashlar;
using Lm = CausalLm<LlamaSpec>;

/// Draws `count` tokens after a prompt [1, T] that lies on the device, into `tokens` there.
void continue_text(const Lm::Config& config, Lm::Weights weights,
                   MatrixView<const std::int32_t> prompt, VectorView<std::int32_t> tokens,
                   VectorView<const cuda::SampleOptions> options, CUstream_st* stream) {
  const cuda::Device device = cuda::device(0);
  const auto memory =
      cuda::upload(device, stream, Executor{}, [&](auto&& f) { Lm::visit(weights, config, f); });
  const index_t length = prompt.extent(1), count = tokens.extent(0);
  cuda::DecoderState<Lm, bfloat16> state(device, stream, config, 1, length + count, length);
  const index_t bytes =
      cuda::decoder_workspace_bytes<bfloat16>(config, 1, state.capacity(), length);
  const cuda::DeviceBuffer<std::byte> workspace(device, bytes);
  Context<backend::CudaGpu> ctx(device, stream, workspace.data(), static_cast<std::size_t>(bytes));
  cuda::MatrixProducts products;
  ctx.set_products(&products);

  const cuda::DeviceBuffer<bfloat16> hidden(device, length * config.d_model);
  const cuda::DeviceBuffer<bfloat16> logits(device, config.vocabulary);
  const cuda::DeviceBuffer<std::int32_t> token(device, 1);
  const auto run = [&](MatrixView<const std::int32_t> input) {
    const index_t rows = input.extent(1);
    const MatrixView<bfloat16> h(hidden.data(), {rows, config.d_model});
    const MatrixView<bfloat16> row(logits.data(), {1, config.vocabulary});
    cuda::forward(ctx, config, weights, state, input, h);
    Lm::head(ctx, config, weights, MatrixView<const bfloat16>(h.slice(0, rows - 1, rows)), row);
    const auto* steps = reinterpret_cast<const std::uint64_t*>(state.lengths());
    cuda::sample<bfloat16>(ctx, row, options, {steps, {1}}, {token.data(), {1}});
  };
  const auto keep = [&](index_t i) {
    device.copy(tokens.data() + i, token.data(), sizeof(std::int32_t), stream);
  };
  const MatrixView<const std::int32_t> last(token.data(), {1, 1});
  run(prompt);
  keep(0);
  cuda::Graph step;
  for (index_t i = 1; i < count; ++i) {
    if (i == 2) step = cuda::Graph(ctx, [&] { run(last); });
    if (i == 1)
      run(last);  // as it is: a first call loads kernels
    else
      step.launch(ctx);
    keep(i);
  }
  ctx.synchronize();
}
