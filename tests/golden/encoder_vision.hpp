// Golden vision models.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/models/presets/cait.hpp>
#include <ashlar/models/presets/dinov2.hpp>
#include <ashlar/models/presets/vit_22b.hpp>

#include "encoder_case.hpp"
#include "encoder_runs.hpp"

namespace golden {

/// Images [B, C, H, W] of a case.
struct Images {
  Floats values;
  index_t shape[4];

  explicit Images(const EncoderCase& e) : values(e.floats("pixel_values")) {
    const auto& s = e.shape("pixel_values");
    for (int i = 0; i < 4; ++i) shape[i] = s[static_cast<std::size_t>(i)];
  }
  index_t count() const { return shape[0]; }
  ashlar::TensorView<const float, 4> view() const { return {values.data(), shape}; }
};

/// Logits or another product of the class tokens.
template <class B>
Floats classify(ashlar::Context<B>& ctx, const ashlar::Projection::Weights& w,
                const ashlar::TokenBatch& batch, Floats& hidden) {
  Floats out = zeros(batch.batch(), w.weight.rows());
  ashlar::Projection::apply(
      ctx, {}, w, ashlar::MatrixView<const float>(first_rows(batch, matrix(hidden, batch.rows()))),
      matrix(out, batch.batch()));
  return out;
}
inline Floats copied(ashlar::MatrixView<const float> x) {
  Floats out;
  for (index_t m = 0; m < x.extent(0); ++m) out.insert(out.end(), x.row(m), x.row(m) + x.extent(1));
  return out;
}

/// Each image by itself gives the bits that it has in the batch.
template <class Run>
void expect_images_alone(const Images& images, const Floats& hidden, const Run& run) {
  const auto each = static_cast<std::ptrdiff_t>(hidden.size()) / images.count();
  for (index_t b = 0; b < images.count(); ++b) {
    const Floats got = run(images.view().slice(0, b, b + 1));
    const auto first = hidden.begin() + b * each;
    EXPECT_TRUE(support::same_bits(got, Floats(first, first + each))) << "image " << b << " alone";
  }
}

template <class B, class Family>
void vision_model(const ModelCase& c) {
  using Lm = typename Family::Lm;
  EncoderCase e(c);
  const auto model = load_case<Family>(c);
  const Images images(e);
  ashlar::Context<B> ctx;
  ashlar::TokenBatch batch;
  Streams streams;
  const auto run = [&](ashlar::TensorView<const float, 4> image) {
    Floats out = zeros(image.extent(0) * model.config.tokens(), model.config.d_model);
    Lm::forward(ctx, model.config, model.weights, batch, image,
                matrix(out, image.extent(0) * model.config.tokens()), streams.observer());
    return out;
  };
  Floats hidden = run(images.view());
  e.expect_states("hidden_states", streams.list, hidden);
  e.expect("last_hidden_state", hidden);
  if (e.has("pooler_output"))
    e.expect("pooler_output", copied(first_rows(batch, matrix(hidden, batch.rows()))));
  if constexpr (requires { model.weights.heads.classifier; })
    if (e.has("logits"))
      e.expect("logits", classify(ctx, model.weights.heads.classifier, batch, hidden));
  e.expect_complete();
  expect_images_alone(images, hidden, run);
}

template <class B>
void EncoderRuns<B>::vit(const ModelCase& c) {
  vision_model<B, ashlar::VitFamily>(c);
}
template <class B>
void EncoderRuns<B>::vit_22b(const ModelCase& c) {
  vision_model<B, ashlar::Vit22bFamily>(c);
}
template <class B>
void EncoderRuns<B>::dinov2(const ModelCase& c) {
  using namespace ashlar;
  Families<Dinov2Family, Dinov2RegistersFamily, Dinov2RegistersGiantFamily>::with_family_of(
      Checkpoint(c.folder()), [&]<class Family>() { vision_model<B, Family>(c); });
}

template <class B>
void EncoderRuns<B>::cait(const ModelCase& c) {
  using Lm = ashlar::Cait;
  EncoderCase e(c);
  const auto model = load_case<ashlar::CaitFamily>(c);
  const Images images(e);
  ashlar::Context<B> ctx;
  ashlar::TokenBatch batch;
  Streams streams, classes;
  const auto run = [&](ashlar::TensorView<const float, 4> image) {
    Floats out = zeros(image.extent(0) * model.config.tokens(), model.config.vision.d_model);
    Lm::forward(ctx, model.config, model.weights, batch, image,
                matrix(out, image.extent(0) * model.config.tokens()), streams.observer(),
                classes.observer());
    return out;
  };
  Floats hidden = run(images.view());
  e.expect_states("hidden_states", streams.list, {});
  EXPECT_EQ(classes.list.size(), model.config.class_layers.size());
  for (std::size_t i = 0; i < classes.list.size(); ++i)
    e.expect("class_states." + std::to_string(i), classes.list[i]);
  e.expect("last_hidden_state", hidden);
  e.expect("logits", classify(ctx, model.weights.classifier, batch, hidden));
  e.expect_complete();
  expect_images_alone(images, hidden, run);
}

}  // namespace golden
