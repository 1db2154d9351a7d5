// A CausalLm on a device: the same specs, blocks and weights' views, with everything in the
// device's memory and nothing that waits for the host.
#pragma once

#include <ashlar/cuda/embedding_launch.hpp>
#include <ashlar/cuda/linear_launch.hpp>
#include <ashlar/cuda/norm_launch.hpp>
#include <ashlar/models/causal_lm.hpp>
#include <ashlar/models/cuda/add_and_norm.hpp>
#include <ashlar/models/cuda/kv_cache.hpp>
#include <ashlar/models/cuda/token_batch.hpp>

namespace ashlar::inline ASHLAR_ABI {

template <class E, class T>
struct StateOn<KvCache<E>, backend::CudaGpu, T> {
  using type = cuda::DeviceKvCache<T>;
};

namespace cuda {

/// What one batch of sequences has seen so far. All memory is taken here; forward() takes none.
template <class Lm, Element T>
class DecoderState {
  using Config = typename Lm::Config;
  using Cache = StateOf<typename Lm::Block::State, backend::CudaGpu, T>;
  static_assert(std::is_same_v<Cache, DeviceKvCache<T>>,
                "ashlar: this mixer's state is not available on a device, expected a KvCache");

 public:
  /// Room for `capacity` tokens of each of `batch` sequences, of which a call brings at most
  /// `most_tokens`. Waits for the stream. Throws ValueError, CudaError.
  DecoderState(const Device& device, CUstream_st* stream, const Config& c, index_t batch,
               index_t capacity, index_t most_tokens)
      : device_(device), stream_(stream), capacity_(capacity), step_(device, batch, most_tokens) {
    if (batch < 1 || capacity < 0 || most_tokens < 1)
      fail<ValueError>("DecoderState: ", batch, " sequences of ", capacity, " tokens, ",
                       most_tokens, " a call");
    if (c.context_length != 0 && capacity > c.context_length)
      fail<ValueError>("DecoderState: capacity of ", capacity,
                       " tokens is beyond the model's context of ", c.context_length);
    if (c.registers > 0 || c.embedding_width > 0 || !c.never_predicted.empty())
      fail<ValueError>(
          "DecoderState: registers, an embedding_width of its own and never_predicted "
          "are not available on a device");
    for (const auto& layer : c.layers) {
      const Dims& d = layer.dims;
      if (layer.mixer.shared) {
        layers_.emplace_back();
      } else {
        layers_.emplace_back(device, batch, capacity, d.n_kv_heads, d.head_dim, d.values());
      }
      layers_.back().follow(step_.starts(), step_.ends());
      if constexpr (requires { layer.mixer.position.rule; })
        step_.tables().add(device, stream, layer.mixer.position.rule, capacity,
                           batch * most_tokens);
    }
    truncate(0);
  }
  index_t batch() const { return step_.batch(); }
  index_t capacity() const { return capacity_; }
  /// Tokens that each sequence holds, as far as the host has enqueued them.
  index_t length() const { return length_; }
  index_t bytes() const {
    index_t sum = 0;
    for (const auto& layer : layers_) sum += layer.bytes();
    return sum;
  }
  /// Number of tokens of each sequence [B], on the device.
  const index_t* lengths() const { return step_.ends(); }
  /// Forgets all tokens from position `length` on. Waits for the stream.
  void truncate(index_t length) {
    if (length < 0) fail<ValueError>("DecoderState: length is ", length, ", expected at least 0");
    length_ = min_index(length_, length);
    step_.set_length(device_, stream_, length_);
  }
  /// Counts tokens that a graph which was captured from forward() has appended.
  void count(index_t tokens) { length_ += tokens; }

  DeviceTokenBatch& step() { return step_; }
  DeviceKvCache<T>& layer(std::size_t i) { return layers_[i]; }

 private:
  Device device_;
  CUstream_st* stream_;
  index_t capacity_, length_ = 0;
  DeviceTokenBatch step_;
  std::vector<DeviceKvCache<T>> layers_;
};

/// CausalLm::forward on a device: enqueues T tokens of each sequence. The positions are the
/// device's, so that a graph captured from a call continues the sequences each time it runs.
///
/// Shapes   tokens [B, T] and hidden [B T, D], both on the device
/// Throws   ShapeError; ValueError for more tokens than fit, and then the state is as before;
///          after another error (a small workspace, CudaError) it counts tokens that were not
///          run: truncate() it. A token outside the vocabulary gives NaN
template <class Lm, Element T>
void forward(Context<backend::CudaGpu>& ctx, const typename Lm::Config& c,
             const typename Lm::Weights& w, DecoderState<Lm, T>& state,
             MatrixView<const std::int32_t> tokens, MatrixView<T> hidden) {
  static_assert(std::is_same_v<typename Lm::SideInput, NoSideInput>,
                "ashlar: side inputs are not available on a device");
  const index_t count = tokens.extent(1), rows = state.batch() * count;
  expect_shape("CausalLm", "tokens", tokens, {state.batch(), count});
  expect_shape("CausalLm", "hidden", hidden, {rows, c.d_model});
  if (!tokens.contiguous())
    fail<ShapeError>("CausalLm: the rows of tokens do not lie side by side");
  if (count > state.capacity() - state.length() || count > state.step().most_tokens())
    fail<ValueError>("CausalLm: ", count, " tokens after ", state.length(),
                     " do not fit the capacity of ", state.capacity(), " or the ",
                     state.step().most_tokens(), " of a call");
  if (count == 0) return;
  DeviceTokenBatch& step = state.step();
  step.start(ctx, count);
  state.count(count);

  Scratch::Frame frame(ctx.scratch());
  const auto x = frame.tensor<T, 2>({rows, c.d_model});
  embedding(ctx, VectorView<const std::int32_t>(tokens.data(), {rows}), w.embedding, x);
  if (c.embedding_scale != 1.f) map(ctx, fn::Scale{c.embedding_scale}, x);
  Lm::InputPosition::apply(ctx, c.position, w.position, step, x);
  if constexpr (!std::is_same_v<typename Lm::EmbeddingNorm, NoNorm>)
    Lm::EmbeddingNorm::apply(ctx, c.embedding_norm, w.embedding_norm, MatrixView<const T>(x), x);
  for (std::size_t i = 0; i < c.layers.size(); ++i) {
    const std::size_t owner = c.state_of.empty() ? i : static_cast<std::size_t>(c.state_of[i]);
    Lm::Block::forward(ctx, c.layers[i], w.layers[i], step, &state.layer(owner), x);
  }
  Lm::FinalNorm::apply(ctx, c.final_norm, w.final_norm, MatrixView<const T>(x), hidden);
}

}  // namespace cuda

}  // namespace ashlar::inline ASHLAR_ABI
