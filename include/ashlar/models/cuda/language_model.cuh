// DeviceModel: a LanguageModel on a device. Programs link cublasLt.
#pragma once

#include <ashlar/cuda.cuh>
#include <ashlar/cuda/graph.cuh>
#include <ashlar/cuda/product.cuh>
#include <ashlar/cuda/stream.cuh>
#include <ashlar/cuda/upload.hpp>
#include <ashlar/models/cuda/decoder.hpp>
#include <ashlar/models/cuda/workspace.hpp>
#include <ashlar/models/language_model.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// A family's model on a device, with activations of T. Weights, caches and activations stay there;
/// forward() and head() copy what they are given and what they give.
template <class Family, Element T>
class DeviceModel final : public LanguageModel {
  using Lm = CausalLm<typename Family::Spec>;
  static constexpr index_t most_tokens = 512;  // of a call; longer ones are cut

 public:
  /// Throws FileError, ValueError, CudaError.
  template <class Progress>
  DeviceModel(const Checkpoint& checkpoint, Executor executor, Progress&& progress, int index = 0)
      : host_(executor), device_(cuda::device(index)) {
    Model<Lm> model = load_model<Family>(checkpoint, executor, progress);
    config_ = std::move(model.config);
    weights_ = std::move(model.weights);
    memory_ = upload(device_, stream_.get(), executor,
                     [&](auto&& f) { Lm::visit(weights_, config_, f); });
    info_ = {std::string(Family::name),
             backend::CudaGpu::name,
             config_.vocabulary,
             config_.d_model,
             static_cast<index_t>(config_.layers.size()),
             config_.context_length,
             memory_.size()};
    start(1, 0);
  }

  const LanguageModelInfo& info() const override { return info_; }
  HostContext& context() override { return host_; }
  void start(index_t batch, index_t capacity) override {
    const index_t tokens = min_index(max_index(capacity, 1), most_tokens), rows = batch * tokens;
    state_.reset();  // its memory goes first
    state_ = std::make_unique<State>(device_, stream_.get(), config_, batch, capacity, tokens);
    workspace_ = {};
    workspace_ = DeviceBuffer<std::byte>(
        device_, decoder_workspace_bytes<T>(config_, batch, capacity, rows));
    context_ = std::make_unique<Context<backend::CudaGpu>>(
        device_, stream_.get(), workspace_.data(), static_cast<std::size_t>(workspace_.size()));
    context_->set_products(&products_);
    tokens_ = DeviceBuffer<std::int32_t>(device_, rows);
    hidden_ = DeviceBuffer<T>(device_, rows * config_.d_model);
    logits_ = DeviceBuffer<T>(device_, batch * config_.vocabulary);
    last_rows_ = 0;
  }
  index_t length() const override { return state_->length(); }
  index_t state_bytes() const override { return state_->bytes(); }
  void truncate(index_t length) override {
    state_->truncate(length);
    last_rows_ = 0;
  }
  void forward(MatrixView<const std::int32_t> tokens, MatrixView<float> hidden,
               LayerObserver* observer) override {
    const index_t B = state_->batch(), count = tokens.extent(1), D = config_.d_model;
    expect_shape("DeviceModel", "tokens", tokens, {B, count});
    expect_shape("DeviceModel", "hidden", hidden, {B * count, D});
    if (observer)
      fail<ValueError>(
          "DeviceModel: the stream between layers stays on the device, it cannot be "
          "observed");
    if (count > state_->capacity() - state_->length())
      fail<ValueError>("CausalLm: ", count, " tokens after ", state_->length(),
                       " do not fit the capacity of ", state_->capacity());
    for (index_t b = 0; b < B; ++b)
      for (index_t t = 0; t < count; ++t)
        if (tokens(b, t) < 0 || tokens(b, t) >= config_.vocabulary)
          fail<ValueError>("CausalLm: token ", t, " of sequence ", b, " is ", tokens(b, t),
                           ", expected 0 to ", config_.vocabulary - 1);
    const index_t most = state_->step().most_tokens();
    for (index_t t = 0; t < count; t += most) {
      const index_t n = min_index(most, count - t);
      std::vector<std::int32_t> ids;
      for (index_t b = 0; b < B; ++b)
        for (index_t i = 0; i < n; ++i) ids.push_back(tokens(b, t + i));
      tokens_.upload(ids, stream_.get());
      step(n);
      const std::vector<float> rows = floats_of(hidden_, B * n * D);
      for (index_t b = 0; b < B; ++b)
        for (index_t i = 0; i < n * D; ++i)
          hidden(b * count + t + i / D, i % D) = rows[static_cast<std::size_t>(b * n * D + i)];
    }
  }
  void head(MatrixView<const float> hidden, MatrixView<float> logits) override {
    const index_t M = hidden.extent(0), D = config_.d_model, V = config_.vocabulary;
    expect_shape("DeviceModel", "hidden", hidden, {M, D});
    expect_shape("DeviceModel", "logits", logits, {M, V});
    std::vector<T> rows(static_cast<std::size_t>(M * D));
    for (index_t i = 0; i < M * D; ++i)
      rows[static_cast<std::size_t>(i)] = static_cast<T>(hidden(i / D, i % D));
    DeviceBuffer<T> x(device_, M * D), y(device_, M * V);
    x.upload(rows, stream_.get());
    Lm::head(*context_, config_, weights_, MatrixView<const T>(x.data(), {M, D}),
             MatrixView<T>(y.data(), {M, V}));
    const std::vector<float> values = floats_of(y, M * V);
    for (index_t i = 0; i < M * V; ++i) logits(i / V, i % V) = values[static_cast<std::size_t>(i)];
  }
  std::unique_ptr<TokenDrawer> drawer(const DrawOptions& options) override {
    return std::make_unique<Drawer>(*this, options);
  }

 private:
  using State = DecoderState<Lm, T>;

  /// The head, the draw and the run of the drawn token are one graph: between two tokens the host
  /// does nothing but enqueue it and read four bytes.
  class Drawer final : public TokenDrawer {
   public:
    Drawer(DeviceModel& model, const DrawOptions& o)
        : model_(model), options_(model.device_, model.state_->batch()) {
      if (model.state_->batch() != 1 || model.last_rows_ == 0)
        fail<ValueError>("TokenDrawer: it needs one sequence, with the last call still there");
      const SampleOptions options{
          o.temperature, o.top_p, o.min_p,
          static_cast<std::int32_t>(min_index(o.top_k, model.config_.vocabulary)), o.seed};
      check_sample_options(options);
      options_.upload({&options, 1}, model.stream_.get());
      model.context_->synchronize();
    }
    std::int32_t next() override {
      if (!begun_) {
        begun_ = true;
        model_.draw(model_.last_rows_ - 1, options_.data());
      } else {
        State& state = *model_.state_;
        if (state.length() == state.capacity())
          fail<ValueError>("CausalLm: 1 tokens after ", state.length(),
                           " do not fit the capacity of ", state.capacity());
        const auto step = [&] {
          model_.step(1);
          model_.draw(0, options_.data());
        };
        if (runs_++ == 0) {
          step();  // as it is: what a first call loads and asks may not be captured
        } else {
          if (graph_.empty()) {
            graph_ = Graph(*model_.context_, step);
            state.count(-1);  // nothing ran
          }
          graph_.launch(*model_.context_);
          state.count(1);
        }
      }
      std::int32_t token = -1;
      model_.tokens_.download({&token, 1}, model_.stream_.get());
      model_.context_->synchronize();
      if (token < 0) fail<ValueError>("TokenDrawer: no logit is above -infinity, no token is left");
      return token;
    }

   private:
    DeviceModel& model_;
    DeviceBuffer<SampleOptions> options_;
    Graph graph_;
    bool begun_ = false;
    int runs_ = 0;
  };

  /// Runs T tokens a sequence, those that lie in tokens_, into hidden_.
  void step(index_t count) {
    const index_t B = state_->batch();
    cuda::forward(*context_, config_, weights_, *state_,
                  MatrixView<const std::int32_t>(tokens_.data(), {B, count}),
                  MatrixView<T>(hidden_.data(), {B * count, config_.d_model}));
    last_rows_ = B * count;
  }
  /// Draws the token after row m of hidden_ into tokens_. The number of the draw is the sequence's
  /// length.
  void draw(index_t m, const SampleOptions* options) {
    const index_t D = config_.d_model;
    const MatrixView<T> logits(logits_.data(), {1, config_.vocabulary});
    Lm::head(*context_, config_, weights_, MatrixView<const T>(hidden_.data() + m * D, {1, D}),
             logits);
    sample<T>(*context_, logits, {options, {1}},
              {reinterpret_cast<const std::uint64_t*>(state_->lengths()), {1}},
              {tokens_.data(), {1}});
  }
  std::vector<float> floats_of(const DeviceBuffer<T>& x, index_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    x.download(values, stream_.get());
    context_->synchronize();
    return std::vector<float>(values.begin(), values.end());
  }

  HostContext host_;
  Device device_;
  Stream stream_;
  MatrixProducts products_;
  typename Lm::Config config_;
  typename Lm::Weights weights_;
  DeviceBuffer<std::byte> memory_, workspace_;
  std::unique_ptr<Context<backend::CudaGpu>> context_;
  std::unique_ptr<State> state_;
  DeviceBuffer<std::int32_t> tokens_;
  DeviceBuffer<T> hidden_, logits_;
  index_t last_rows_ = 0;  // of hidden_, from the last call
  LanguageModelInfo info_;
};

/// load_language_model on a device, with activations of T.
/// Throws FileError, ValueError, CudaError.
template <Element T, class... Members, class Progress>
std::unique_ptr<LanguageModel> load_device_model(const Checkpoint& checkpoint, Executor executor,
                                                 Progress&& progress) {
  std::unique_ptr<LanguageModel> model;
  Families<Members...>::with_family_of(checkpoint, [&]<class Family>() {
    model = std::make_unique<DeviceModel<Family, T>>(checkpoint, executor, progress);
  });
  return model;
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
