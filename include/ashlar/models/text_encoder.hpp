// TextEncoder: an encoder of tokens whose family and backend are known at run time only.
#pragma once

#include <ashlar/models/encoder.hpp>
#include <ashlar/models/language_model.hpp>
#include <ashlar/nn/head/text_heads.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Numbers that programs print, and which heads a checkpoint has.
struct TextEncoderInfo : LanguageModelInfo {
  bool masked_lm = false, pools = false;
  bool typed = false;   // tokens have types, of which there is a table
  index_t classes = 0;  // rows of the classifier; 0: none
};

/// One model. Made by load_text_encoder.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  virtual const TextEncoderInfo& info() const = 0;
  virtual HostContext& context() = 0;
  /// Shapes   tokens [B, T] of the batch; types [B, T] or empty; hidden [B T, D]
  virtual void forward(TokenBatch& batch, MatrixView<const std::int32_t> tokens,
                       MatrixView<const std::int32_t> types, MatrixView<float> hidden,
                       LayerObserver* observer = nullptr) = 0;
  /// Logits of the masked-LM head. Throws ValueError for a model that has none.
  /// Shapes   hidden [M, D], logits [M, V]
  virtual void head(MatrixView<const float> hidden, MatrixView<float> logits) = 0;
  /// The pooler of each sequence's first token. Throws ValueError for a model that has none.
  /// Shapes   hidden [B T, D] of the batch, pooled [B, D]
  virtual void pool(const TokenBatch& batch, MatrixView<const float> hidden,
                    MatrixView<float> pooled) = 0;
  /// The classifier of what pool gives. Throws ValueError for a model that has none.
  /// Shapes   pooled [B, D], logits [B, classes]
  virtual void classify(MatrixView<const float> pooled, MatrixView<float> logits) = 0;
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
    info_ = {{std::string(Family::name), B::name, c.vocabulary, c.d_model,
              static_cast<index_t>(c.stack.layers.size()), c.context_length, model_.store.bytes()},
             c.heads.masked_lm.on,
             c.heads.pooler.on,
             c.token_types > 0,
             c.heads.classifier.rows};
  }
  const TextEncoderInfo& info() const override { return info_; }
  HostContext& context() override { return context_; }
  void forward(TokenBatch& batch, MatrixView<const std::int32_t> tokens,
               MatrixView<const std::int32_t> types, MatrixView<float> hidden,
               LayerObserver* observer) override {
    Lm::forward(context_, model_.config, model_.weights, batch, tokens, types, hidden,
                detail::observing(observer));
  }
  void head(MatrixView<const float> hidden, MatrixView<float> logits) override {
    const auto& c = model_.config.heads.masked_lm;
    if (!c.on) fail<ValueError>(info_.family, ": the checkpoint has no masked-LM head");
    Lm::Heads::MaskedLm::apply(context_, c, model_.weights.heads.masked_lm,
                               model_.weights.embedding, hidden, logits);
  }
  void pool(const TokenBatch& batch, MatrixView<const float> hidden,
            MatrixView<float> pooled) override {
    if (!info_.pools) fail<ValueError>(info_.family, ": the checkpoint has no pooler");
    Pooler::apply(context_, {}, model_.weights.heads.pooler, first_rows(batch, hidden), pooled);
  }
  void classify(MatrixView<const float> pooled, MatrixView<float> logits) override {
    if (info_.classes == 0) fail<ValueError>(info_.family, ": the checkpoint has no classifier");
    Projection::apply(context_, {}, model_.weights.heads.classifier, pooled, logits);
  }

 private:
  Context<B> context_;
  Model<Lm> model_;
  TextEncoderInfo info_;
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
