// VisionModel: an encoder of images whose family and backend are known at run time only.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/models/vision_encoder.hpp>
#include <ashlar/nn/head/pooling.hpp>
#include <ashlar/nn/head/projection.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Numbers that programs print, and what a caller must know.
struct VisionModelInfo {
  std::string family;
  std::string_view backend;
  index_t channels = 0, height = 0, width = 0;  // of an image
  index_t tokens = 0, d_model = 0, layers = 0;  // tokens: rows of an image's states
  index_t class_layers = 0;                     // layers of the class token alone
  index_t classes = 0;                          // rows of the classifier; 0: none
  bool pools = false;
  index_t weight_bytes = 0;  // packed, in memory
};

/// One model. Made by load_vision_model.
class VisionModel {
 public:
  virtual ~VisionModel() = default;
  virtual const VisionModelInfo& info() const = 0;
  virtual HostContext& context() = 0;

  /// The second observer sees the class tokens [B, D] that leave each class layer.
  /// Shapes   image [B, C, H, W], hidden [B tokens, D]: [class; registers; patches, row by row]
  virtual void forward(TensorView<const float, 4> image, MatrixView<float> hidden,
                       LayerObserver* observer = nullptr,
                       LayerObserver* class_observer = nullptr) = 0;
  /// What the model gives for an image as a whole. Throws ValueError for a model that has no such.
  /// Shapes   hidden [B tokens, D], pooled [B, D]
  virtual void pool(MatrixView<const float> hidden, MatrixView<float> pooled) = 0;
  /// Throws   ValueError for a model without a classifier
  /// Shapes   hidden [B tokens, D], logits [B, classes]
  virtual void classify(MatrixView<const float> hidden, MatrixView<float> logits) = 0;
};

namespace detail {
/// The part of a vision model's configuration that says what an image is.
template <class Config>
const auto& image_part(const Config& c) {
  if constexpr (requires { c.vision; })
    return c.vision;
  else
    return c;
}
/// The configuration or weights of a classifier, or nothing.
template <class Parts>
auto classifier_part(const Parts& p) {
  if constexpr (requires { p.classifier; })
    return p.classifier;
  else if constexpr (requires { p.heads.classifier; })
    return p.heads.classifier;
  else
    return Projection::Config{};
}
}  // namespace detail

/// A family's model on a backend.
template <class Family, Backend B>
class FamilyVisionModel final : public VisionModel {
  using Lm = typename Family::Lm;

 public:
  template <class Progress>
  FamilyVisionModel(const Checkpoint& checkpoint, Executor executor, Progress&& progress)
      : context_(executor), model_(load_model<Family>(checkpoint, executor, progress)) {
    const auto& c = model_.config;
    const auto& image = detail::image_part(c);
    info_.family = std::string(Family::name);
    info_.backend = B::name;
    info_.channels = image.patches.channels;
    info_.height = image.height;
    info_.width = image.width;
    info_.tokens = c.tokens();
    info_.d_model = image.d_model;
    info_.layers = static_cast<index_t>(image.stack.layers.size());
    if constexpr (has_class_layers)
      info_.class_layers = static_cast<index_t>(c.class_layers.size());
    info_.classes = detail::classifier_part(c).rows;
    if constexpr (has_pooler)
      info_.pools = c.heads.pooler.on;
    else if constexpr (gives_class_state)
      info_.pools = c.class_token;
    info_.weight_bytes = model_.store.bytes();
  }
  const VisionModelInfo& info() const override { return info_; }
  HostContext& context() override { return context_; }

  void forward(TensorView<const float, 4> image, MatrixView<float> hidden, LayerObserver* observer,
               LayerObserver* class_observer) override {
    if constexpr (has_class_layers)
      Lm::forward(context_, model_.config, model_.weights, batch_, image, hidden,
                  detail::observing(observer), detail::observing(class_observer));
    else
      Lm::forward(context_, model_.config, model_.weights, batch_, image, hidden,
                  detail::observing(observer));
  }
  void pool(MatrixView<const float> hidden, MatrixView<float> pooled) override {
    if (!info_.pools)
      fail<ValueError>(info_.family, ": the checkpoint gives nothing for an image as a whole");
    if constexpr (has_pooler)
      Pooler::apply(context_, model_.config.heads.pooler, model_.weights.heads.pooler,
                    class_rows(hidden), pooled);
    else
      NoNorm::apply(context_, {}, {}, class_rows(hidden), pooled);
  }
  void classify(MatrixView<const float> hidden, MatrixView<float> logits) override {
    if (info_.classes == 0) fail<ValueError>(info_.family, ": the checkpoint has no classifier");
    if constexpr (has_classifier)
      Projection::apply(context_, {}, detail::classifier_part(model_.weights), class_rows(hidden),
                        logits);
  }

 private:
  using Config = typename Lm::Config;
  static constexpr bool has_class_layers = requires(const Config& c) { c.class_layers; };
  static constexpr bool has_pooler = requires(const Config& c) { c.heads.pooler; };
  static constexpr bool has_classifier = requires(const Config& c) { c.classifier; }
  || requires(const Config& c) { c.heads.classifier; };
  /// Without any head the class token's state is what a model is used for.
  static constexpr bool gives_class_state = !has_class_layers && !has_classifier;

  MatrixView<const float> class_rows(MatrixView<const float> hidden) const {
    return first_rows(TokenBatch(hidden.extent(0) / info_.tokens, info_.tokens), hidden);
  }
  Context<B> context_;
  Model<Lm> model_;
  TokenBatch batch_;
  VisionModelInfo info_;
};

/// Opens a checkpoint with the family that it names, among those of the list:
///   load_vision_model<backend::SimdCpu, VitFamily, Dinov2Family>(checkpoint, executor, progress)
/// `progress(done, total)` is told the bytes. Throws FileError, ValueError.
template <Backend B, class... Members, class Progress>
std::unique_ptr<VisionModel> load_vision_model(const Checkpoint& checkpoint, Executor executor,
                                               Progress&& progress) {
  std::unique_ptr<VisionModel> model;
  Families<Members...>::with_family_of(checkpoint, [&]<class Family>() {
    model = std::make_unique<FamilyVisionModel<Family, B>>(checkpoint, executor, progress);
  });
  return model;
}

}  // namespace ashlar::inline ASHLAR_ABI
