// LanguageModel: a causal language model whose family and backend are known at run time only.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Numbers that programs print.
struct LanguageModelInfo {
  std::string family;
  std::string_view backend;
  index_t vocabulary = 0, d_model = 0, layers = 0, context_length = 0;
  index_t weight_bytes = 0;  // packed, in memory
};

/// Looks at the stream that enters each layer.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  /// x [B T, D]
  virtual void observe(index_t layer, MatrixView<const float> x) = 0;
};

/// One model with one state. Made by load_language_model.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  virtual const LanguageModelInfo& info() const = 0;
  virtual HostContext& context() = 0;

  /// Begins `batch` sequences of at most `capacity` tokens each.
  /// Throws ValueError beyond the model's context.
  virtual void start(index_t batch, index_t capacity) = 0;
  /// Tokens that each sequence holds.
  virtual index_t length() const = 0;
  /// Bytes of the state.
  virtual index_t state_bytes() const = 0;
  /// Forgets the tokens from position `length` on.
  virtual void truncate(index_t length) = 0;
  /// Runs T more tokens of each sequence.
  /// Shapes   tokens [B, T], hidden [B T, D]: after the final norm
  virtual void forward(MatrixView<const std::int32_t> tokens, MatrixView<float> hidden,
                       LayerObserver* observer = nullptr) = 0;
  /// Shapes   hidden [M, D], logits [M, V]
  virtual void head(MatrixView<const float> hidden, MatrixView<float> logits) = 0;
};

/// A family's model on a backend.
template <class Family, Backend B>
class FamilyModel final : public LanguageModel {
  using Lm = CausalLm<typename Family::Spec>;

 public:
  template <class Progress>
  FamilyModel(const Checkpoint& checkpoint, Executor executor, Progress&& progress)
      : context_(executor), model_(load_model<Family>(checkpoint, executor, progress)) {
    const auto& c = model_.config;
    info_ = {std::string(Family::name),
             B::name,
             c.vocabulary,
             c.d_model,
             static_cast<index_t>(c.layers.size()),
             c.context_length,
             model_.store.bytes()};
    start(1, 0);
  }

  const LanguageModelInfo& info() const override { return info_; }
  HostContext& context() override { return context_; }
  void start(index_t batch, index_t capacity) override {
    state_ = std::make_unique<typename Lm::State>(model_.config, batch, capacity);
  }
  index_t length() const override { return state_->length(); }
  index_t state_bytes() const override { return state_->bytes(); }
  void truncate(index_t length) override { state_->truncate(length); }
  void forward(MatrixView<const std::int32_t> tokens, MatrixView<float> hidden,
               LayerObserver* observer) override {
    Lm::forward(context_, model_.config, model_.weights, *state_, tokens, hidden,
                [&](index_t layer, MatrixView<const float> x) {
                  if (observer) observer->observe(layer, x);
                });
  }
  void head(MatrixView<const float> hidden, MatrixView<float> logits) override {
    Lm::head(context_, model_.config, model_.weights, hidden, logits);
  }

 private:
  Context<B> context_;
  Model<Lm> model_;
  std::unique_ptr<typename Lm::State> state_;
  LanguageModelInfo info_;
};

/// Opens a checkpoint with the family that it names, among those of the list: a family that a
/// program does not name costs it no compile time.
///   load_language_model<backend::SimdCpu, LlamaFamily, Gpt2Family>("model.gguf", executor,
///   progress)
/// `progress(done, total)` is told the bytes. Throws FileError, ValueError.
template <Backend B, class... Families, class Progress>
std::unique_ptr<LanguageModel> load_language_model(const Checkpoint& checkpoint, Executor executor,
                                                   Progress&& progress) {
  std::unique_ptr<LanguageModel> model;
  const std::string family = checkpoint.family();
  const auto attempt = [&]<class Family>() {
    if (!model && family == Family::name)
      model = std::make_unique<FamilyModel<Family, B>>(checkpoint, executor, progress);
  };
  (attempt.template operator()<Families>(), ...);
  if (!model) {
    std::string known;
    ((known += (known.empty() ? "" : ", ") + std::string(Families::name)), ...);
    fail<ValueError>(checkpoint.path(), ": model family is \"", family, "\", supported: ", known);
  }
  return model;
}

}  // namespace ashlar::inline ASHLAR_ABI
