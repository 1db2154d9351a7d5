// ImageTextModel: a tower of texts and one of images, whose family and backend are known at run
// time only.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/models/vision_encoder.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Numbers that programs print, and what a caller must know.
struct ImageTextModelInfo {
  std::string family;
  std::string_view backend;
  index_t vocabulary = 0, context_length = 0;
  index_t text_d_model = 0, text_layers = 0;
  index_t channels = 0, height = 0, width = 0;  // of an image
  index_t image_tokens = 0, image_d_model = 0, image_layers = 0;
  index_t projection = 0;    // width of the common space
  index_t weight_bytes = 0;  // packed, in memory
};

/// One model. Made by load_image_text_model.
class ImageTextModel {
 public:
  virtual ~ImageTextModel() = default;
  virtual const ImageTextModelInfo& info() const = 0;
  virtual HostContext& context() = 0;

  /// Shapes   tokens [B, T] of the batch, hidden [B T, text_d_model]
  virtual void forward_text(TokenBatch& batch, MatrixView<const std::int32_t> tokens,
                            MatrixView<float> hidden, LayerObserver* observer = nullptr) = 0;
  /// Shapes   hidden of forward_text, y [B, projection]: rows of length 1
  virtual void embed_text(const TokenBatch& batch, MatrixView<const std::int32_t> tokens,
                          MatrixView<const float> hidden, MatrixView<float> y) = 0;
  /// Shapes   image [B, C, H, W], hidden [B image_tokens, image_d_model]
  virtual void forward_image(TensorView<const float, 4> image, MatrixView<float> hidden,
                             LayerObserver* observer = nullptr) = 0;
  /// Shapes   hidden of forward_image, pooled [B, image_d_model]
  virtual void pool_image(MatrixView<const float> hidden, MatrixView<float> pooled) = 0;
  /// Shapes   pooled [B, image_d_model], y [B, projection]: rows of length 1
  virtual void embed_image(MatrixView<const float> pooled, MatrixView<float> y) = 0;
  /// How well each image and each text fit.
  /// Shapes   images [I, projection], texts [T, projection], logits [I, T]
  virtual void compare(MatrixView<const float> images, MatrixView<const float> texts,
                       MatrixView<float> logits) = 0;
};

/// A family's model on a backend.
template <class Family, Backend B>
class FamilyImageTextModel final : public ImageTextModel {
  using Lm = typename Family::Lm;

 public:
  template <class Progress>
  FamilyImageTextModel(const Checkpoint& checkpoint, Executor executor, Progress&& progress)
      : context_(executor), model_(load_model<Family>(checkpoint, executor, progress)) {
    const auto& text = model_.config.text;
    const auto& vision = model_.config.vision;
    const auto count = [](const auto& layers) { return static_cast<index_t>(layers.size()); };
    info_ = {std::string(Family::name),
             B::name,
             text.vocabulary,
             text.context_length,
             text.d_model,
             count(text.stack.layers),
             vision.patches.channels,
             vision.height,
             vision.width,
             vision.tokens(),
             vision.d_model,
             count(vision.stack.layers),
             model_.config.projection,
             model_.store.bytes()};
  }
  const ImageTextModelInfo& info() const override { return info_; }
  HostContext& context() override { return context_; }

  void forward_text(TokenBatch& batch, MatrixView<const std::int32_t> tokens,
                    MatrixView<float> hidden, LayerObserver* observer) override {
    Lm::Text::forward(context_, model_.config.text, model_.weights.text, batch, tokens, {}, hidden,
                      detail::observing(observer));
  }
  void embed_text(const TokenBatch& batch, MatrixView<const std::int32_t> tokens,
                  MatrixView<const float> hidden, MatrixView<float> y) override {
    Lm::embed_text(context_, model_.config, model_.weights, batch, tokens, hidden, y);
  }
  void forward_image(TensorView<const float, 4> image, MatrixView<float> hidden,
                     LayerObserver* observer) override {
    TokenBatch batch;
    Lm::Vision::forward(context_, model_.config.vision, model_.weights.vision, batch, image, hidden,
                        detail::observing(observer));
  }
  void pool_image(MatrixView<const float> hidden, MatrixView<float> pooled) override {
    const TokenBatch batch(hidden.extent(0) / info_.image_tokens, info_.image_tokens);
    Lm::pool_image(context_, model_.config, model_.weights, batch, hidden, pooled);
  }
  void embed_image(MatrixView<const float> pooled, MatrixView<float> y) override {
    Lm::embed_image(context_, model_.weights, pooled, y);
  }
  void compare(MatrixView<const float> images, MatrixView<const float> texts,
               MatrixView<float> logits) override {
    Lm::compare(context_, model_.weights, images, texts, logits);
  }

 private:
  Context<B> context_;
  Model<Lm> model_;
  ImageTextModelInfo info_;
};

/// Opens a checkpoint with the family that it names, among those of the list:
///   load_image_text_model<backend::SimdCpu, ClipFamily>(checkpoint, executor, progress)
/// `progress(done, total)` is told the bytes. Throws FileError, ValueError.
template <Backend B, class... Members, class Progress>
std::unique_ptr<ImageTextModel> load_image_text_model(const Checkpoint& checkpoint,
                                                      Executor executor, Progress&& progress) {
  std::unique_ptr<ImageTextModel> model;
  Families<Members...>::with_family_of(checkpoint, [&]<class Family>() {
    model = std::make_unique<FamilyImageTextModel<Family, B>>(checkpoint, executor, progress);
  });
  return model;
}

}  // namespace ashlar::inline ASHLAR_ABI
