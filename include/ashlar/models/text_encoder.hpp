// TextEncoder: an encoder of tokens whose family and backend are known at run time only.
#pragma once

#include <ashlar/models/encoder.hpp>
#include <ashlar/models/language_model.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// One model. Made by load_text_encoder.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  virtual const LanguageModelInfo& info() const = 0;
  virtual HostContext& context() = 0;
  /// Shapes   tokens [B, T] of the batch; types [B, T] or empty; hidden [B T, D]
  virtual void forward(TokenBatch& batch, MatrixView<const std::int32_t> tokens,
                       MatrixView<const std::int32_t> types, MatrixView<float> hidden,
                       LayerObserver* observer = nullptr) = 0;
  /// Logits of the masked-LM head. Throws ValueError for a model that has none.
  /// Shapes   hidden [M, D], logits [M, V]
  virtual void head(MatrixView<const float> hidden, MatrixView<float> logits) = 0;
};

/// A family's encoder on a backend.
template <class Family, Backend B>
class FamilyEncoder final : public TextEncoder {
  using Lm = typename Family::Lm;

 public:
  template <class Progress>
  FamilyEncoder(const Checkpoint& checkpoint, Executor executor, Progress&& progress)
      : context_(executor), model_(load_model<Family>(checkpoint, executor, progress)) {
    const auto& c = model_.config;
    info_ = {std::string(Family::name),
             B::name,
             c.vocabulary,
             c.d_model,
             static_cast<index_t>(c.stack.layers.size()),
             c.context_length,
             model_.store.bytes()};
  }
  const LanguageModelInfo& info() const override { return info_; }
  HostContext& context() override { return context_; }
  void forward(TokenBatch& batch, MatrixView<const std::int32_t> tokens,
               MatrixView<const std::int32_t> types, MatrixView<float> hidden,
               LayerObserver* observer) override {
    Lm::forward(context_, model_.config, model_.weights, batch, tokens, types, hidden,
                [&](index_t layer, MatrixView<const float> x) {
                  if (observer) observer->observe(layer, x);
                });
  }
  void head(MatrixView<const float> hidden, MatrixView<float> logits) override {
    const auto& c = model_.config.heads.masked_lm;
    if (!c.on) fail<ValueError>(info_.family, ": the checkpoint has no masked-LM head");
    Lm::Heads::MaskedLm::apply(context_, c, model_.weights.heads.masked_lm,
                               model_.weights.embedding, hidden, logits);
  }

 private:
  Context<B> context_;
  Model<Lm> model_;
  LanguageModelInfo info_;
};

/// Opens a checkpoint with the family that it names, among those of the list:
///   load_text_encoder<backend::SimdCpu, BertFamily, RobertaFamily>(checkpoint, executor, progress)
/// `progress(done, total)` is told the bytes. Throws FileError, ValueError.
template <Backend B, class... Members, class Progress>
std::unique_ptr<TextEncoder> load_text_encoder(const Checkpoint& checkpoint, Executor executor,
                                               Progress&& progress) {
  std::unique_ptr<TextEncoder> model;
  Families<Members...>::with_family_of(checkpoint, [&]<class Family>() {
    model = std::make_unique<FamilyEncoder<Family, B>>(checkpoint, executor, progress);
  });
  return model;
}

}  // namespace ashlar::inline ASHLAR_ABI
