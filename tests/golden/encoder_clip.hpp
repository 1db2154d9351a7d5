// Golden CLIP: both towers, and what compares them.
#pragma once

#include <ashlar/models/presets/clip.hpp>

#include "encoder_vision.hpp"

namespace golden {

template <class B>
void EncoderRuns<B>::clip(const ModelCase& c) {
  using Lm = ashlar::Clip;
  EncoderCase e(c);
  const auto model = load_case<ashlar::ClipFamily>(c);
  const auto& config = model.config;
  const auto& w = model.weights;
  ashlar::Context<B> ctx;

  const index_t texts = c.sequences(), T = c.tokens();
  const Ids ids = e.ids("input_ids");
  const ashlar::MatrixView<const std::int32_t> tokens(ids.data(), {texts, T});
  const Lengths lengths = e.lengths_of("attention_mask");
  ashlar::TokenBatch batch(texts, T);
  batch.set_lengths({lengths.data(), {texts}});
  Streams text_streams, image_streams;
  Floats text = zeros(texts * T, config.text.d_model);
  Lm::Text::forward(ctx, config.text, w.text, batch, tokens, {}, matrix(text, texts * T),
                    text_streams.observer());
  e.expect_states("text_hidden_states", text_streams.list, text, lengths);
  e.expect("text_last_hidden_state", text, lengths);
  Floats text_embeds = zeros(texts, config.projection);
  Lm::embed_text(ctx, config, w, batch, tokens, matrix(text, texts * T),
                 matrix(text_embeds, texts));
  e.expect("text_embeds", text_embeds);

  const Images images(e);
  const index_t count = images.count(), N = config.vision.tokens();
  Floats image = zeros(count * N, config.vision.d_model);
  Lm::Vision::forward(ctx, config.vision, w.vision, batch, images.view(), matrix(image, count * N),
                      image_streams.observer());
  e.expect_states("vision_hidden_states", image_streams.list, image);
  e.expect("vision_last_hidden_state", image);
  Floats pooled = zeros(count, config.vision.d_model);
  Lm::pool_image(ctx, config, w, batch, matrix(image, count * N), matrix(pooled, count));
  e.expect("vision_pooler_output", pooled);
  Floats image_embeds = zeros(count, config.projection);
  Lm::embed_image(ctx, w, matrix(pooled, count), matrix(image_embeds, count));
  e.expect("image_embeds", image_embeds);
  Floats logits = zeros(count, texts);
  Lm::compare(ctx, w, matrix(image_embeds, count), matrix(text_embeds, texts),
              matrix(logits, count));
  e.expect("logits_per_image", logits);
  e.expect_complete();

  // Checkpoints of the first years say 2 for the end of text and mean the largest id.
  const Ids all = e.ids("input_ids");
  if (config.end_of_text != *std::max_element(all.begin(), all.end())) return;
  auto older = config;
  older.end_of_text = 2;
  batch.reset(texts, T);
  Floats again = zeros(texts, config.projection);
  Lm::embed_text(ctx, older, w, batch, tokens, matrix(text, texts * T), matrix(again, texts));
  EXPECT_TRUE(support::same_bits(again, text_embeds));
}

}  // namespace golden
