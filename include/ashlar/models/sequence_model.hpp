// SequenceModel: an encoder-decoder whose family and backend are known at run time only.
#pragma once

#include <ashlar/models/encoder_decoder.hpp>
#include <ashlar/models/language_model.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Numbers that programs print: the decoder's, and those of the encoder.
struct SequenceModelInfo : LanguageModelInfo {
  index_t source_d_model = 0, source_layers = 0;
  index_t channels = 0;  // of a frame of sound; 0: the source is tokens
};

/// One model with one state: the source is encoded, start() hands the encoder's states to the
/// decoder, forward() runs as many of the target's tokens at a time as one likes. Made by
/// load_sequence_model.
class SequenceModel {
 public:
  virtual ~SequenceModel() = default;
  virtual const SequenceModelInfo& info() const = 0;
  virtual HostContext& context() = 0;

  /// Rows of the encoder's states for a source of so many tokens, or frames.
  virtual index_t memory_length(index_t source) const = 0;
  /// Shapes   tokens [B, S] of the batch, memory [B S, source_d_model]
  /// Throws   ValueError for a model whose source is sound
  virtual void encode(TokenBatch& batch, MatrixView<const std::int32_t> tokens,
                      MatrixView<float> memory, LayerObserver* observer = nullptr) = 0;
  /// Shapes   features [B, channels, frames], memory [B S, source_d_model] of a batch with
  ///          S = memory_length(frames)
  /// Throws   ValueError for a model whose source is tokens
  virtual void encode(TokenBatch& batch, TensorView<const float, 3> features,
                      MatrixView<float> memory, LayerObserver* observer = nullptr) = 0;

  /// Begins a target of at most `capacity` tokens for each sequence of the batch, whose lengths say
  /// where the memory ends. Throws ValueError beyond the model's context.
  virtual void start(const TokenBatch& batch, MatrixView<const float> memory, index_t capacity) = 0;
  /// Tokens that each target holds; 0 before start.
  virtual index_t length() const = 0;
  /// Forgets the target's tokens from position `length` on; the memory stays.
  virtual void truncate(index_t length) = 0;
  /// Runs T more tokens of each target.
  /// Shapes   tokens [B, T], hidden [B T, D]: after the final norm
  virtual void forward(MatrixView<const std::int32_t> tokens, MatrixView<float> hidden,
                       LayerObserver* observer = nullptr) = 0;
  /// Shapes   hidden [M, D], logits [M, V]
  virtual void head(MatrixView<const float> hidden, MatrixView<float> logits) = 0;
};

/// A family's model on a backend.
template <class Family, Backend B>
class FamilySequenceModel final : public SequenceModel {
  using Lm = typename Family::Lm;
  using Source = typename Lm::Source;
  static constexpr bool of_tokens = requires(const typename Source::Config& c) { c.vocabulary; };

 public:
  template <class Progress>
  FamilySequenceModel(const Checkpoint& checkpoint, Executor executor, Progress&& progress)
      : context_(executor), model_(load_model<Family>(checkpoint, executor, progress)) {
    const auto& c = model_.config;
    info_ = {{std::string(Family::name), B::name, c.vocabulary, c.d_model,
              static_cast<index_t>(c.layers.size()), c.context_length, model_.store.bytes()},
             c.encoder.d_model,
             static_cast<index_t>(c.encoder.stack.layers.size()),
             0};
    if constexpr (!of_tokens) info_.channels = c.encoder.conv1.channels;
  }
  const SequenceModelInfo& info() const override { return info_; }
  HostContext& context() override { return context_; }

  index_t memory_length(index_t source) const override {
    if constexpr (of_tokens)
      return source;
    else
      return model_.config.encoder.tokens(source);
  }
  void encode(TokenBatch& batch, MatrixView<const std::int32_t> tokens, MatrixView<float> memory,
              LayerObserver* observer) override {
    if constexpr (of_tokens)
      Source::forward(context_, model_.config.encoder, model_.weights.encoder, batch, tokens, {},
                      memory, detail::observing(observer));
    else
      fail<ValueError>(info_.family, ": got tokens to encode, expected features of sound");
  }
  void encode(TokenBatch& batch, TensorView<const float, 3> features, MatrixView<float> memory,
              LayerObserver* observer) override {
    if constexpr (!of_tokens)
      Source::forward(context_, model_.config.encoder, model_.weights.encoder, batch, features,
                      memory, detail::observing(observer));
    else
      fail<ValueError>(info_.family, ": got features of sound to encode, expected tokens");
  }

  void start(const TokenBatch& batch, MatrixView<const float> memory, index_t capacity) override {
    auto state = std::make_unique<typename Lm::State>(model_.config, batch.batch(), capacity,
                                                      batch.tokens());
    Lm::remember(context_, model_.config, model_.weights, *state, batch, memory);
    state_ = std::move(state);
  }
  index_t length() const override { return state_ ? state_->length() : 0; }
  void truncate(index_t length) override {
    if (state_) state_->truncate(length);
  }
  void forward(MatrixView<const std::int32_t> tokens, MatrixView<float> hidden,
               LayerObserver* observer) override {
    if (!state_) fail<ValueError>(info_.family, ": forward before start");
    Lm::forward(context_, model_.config, model_.weights, *state_, tokens, hidden,
                detail::observing(observer));
  }
  void head(MatrixView<const float> hidden, MatrixView<float> logits) override {
    Lm::head(context_, model_.config, model_.weights, hidden, logits);
  }

 private:
  Context<B> context_;
  Model<Lm> model_;
  std::unique_ptr<typename Lm::State> state_;
  SequenceModelInfo info_;
};

/// Opens a checkpoint with the family that it names, among those of the list:
///   load_sequence_model<backend::SimdCpu, T5Family, T5GatedFamily>(checkpoint, executor, progress)
/// `progress(done, total)` is told the bytes. Throws FileError, ValueError.
template <Backend B, class... Members, class Progress>
std::unique_ptr<SequenceModel> load_sequence_model(const Checkpoint& checkpoint, Executor executor,
                                                   Progress&& progress) {
  std::unique_ptr<SequenceModel> model;
  Families<Members...>::with_family_of(checkpoint, [&]<class Family>() {
    model = std::make_unique<FamilySequenceModel<Family, B>>(checkpoint, executor, progress);
  });
  return model;
}

}  // namespace ashlar::inline ASHLAR_ABI
