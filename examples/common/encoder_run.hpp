// What encoders, encoder-decoders and vision models give for an input: the work of `logits`. Names
// are those of the golden files, which have them from transformers.
#pragma once

#include "encoder_input.hpp"
#include "encoder_output.hpp"
#include "encoders.hpp"
#include "logits_run.hpp"

namespace ashlar::examples {

namespace detail {
inline void expect_no_greedy(const LogitsOptions& options, std::string_view family) {
  if (options.greedy > 0)
    fail<ValueError>("greedy is ", options.greedy, ", expected 0: ", family,
                     " is an encoder, which continues nothing");
}

}  // namespace detail

/// Throws: ValueError for parts of an input that the model does not take, or a wrong size.
inline EncoderOutput run_encoder(TextEncoder& model, const EncoderInput& input,
                                 const LogitsOptions& options = {}) {
  const TextEncoderInfo& info = model.info();
  detail::expect_no_greedy(options, info.family);
  input.expect(info.family, input.has_tokens, info.typed ? input.has_types : 0u);
  const TokenTable& tokens = *input.tokens;
  if (input.types && (input.types->batch != tokens.batch || input.types->length != tokens.length ||
                      input.types->lengths != tokens.lengths))
    fail<ValueError>("types: got ", input.types->batch, " sequences of up to ", input.types->length,
                     ", expected as many as tokens in each sequence, ", tokens.batch, " of up to ",
                     tokens.length);
  const index_t B = tokens.batch, T = tokens.length, D = info.d_model;
  EncoderOutput out;
  detail::StateRecorder states(out, "hidden_states", B, options.hidden);
  TokenBatch batch = tokens.token_batch();
  const MatrixView<float> hidden = out.add("last_hidden_state", {B, T, D});
  model.forward(batch, tokens.view(),
                input.types ? input.types->view() : MatrixView<const std::int32_t>(), hidden,
                states.get());
  states.put_last(hidden);
  // With both heads BERT's two are told apart as its first checkpoints do.
  const bool both = info.masked_lm && info.classes > 0;
  if (info.masked_lm)
    model.head(hidden, out.add(both ? "prediction_logits" : "logits", {B, T, info.vocabulary}));
  if (info.pools) {
    const MatrixView<float> pooled = out.add("pooler_output", {B, D});
    model.pool(batch, hidden, pooled);
    if (info.classes > 0)
      model.classify(pooled,
                     out.add(both ? "seq_relationship_logits" : "logits", {B, info.classes}));
  }
  detail::clear_padding(out, "", tokens);
  return out;
}

/// The same for an encoder-decoder; greedy tokens follow the decoder's through both caches.
inline EncoderOutput run_encoder(SequenceModel& model, const EncoderInput& input,
                                 const LogitsOptions& options = {}) {
  const SequenceModelInfo& info = model.info();
  const bool sound = info.channels > 0;
  input.expect(info.family, (sound ? input.has_features : input.has_tokens) | input.has_decoder);
  const TokenTable& target = expect_equal_lengths(*input.decoder_tokens);
  const index_t B = sound ? input.input_features->shape[0] : input.tokens->batch;
  if (target.batch != B)
    fail<ValueError>("decoder tokens: got ", target.batch, " sequences, expected ", B,
                     " as those of the encoder");
  TokenBatch batch = sound ? TokenBatch(B, model.memory_length(input.input_features->shape[2]))
                           : input.tokens->token_batch();
  const index_t S = batch.tokens(), T = target.length;
  // The transformer of 2017 shows the stream itself.
  const bool last_is_normed = info.family != "transformer-2017";

  EncoderOutput out;
  out.batch = B;
  detail::StateRecorder encoder(out, "encoder_hidden_states", B, options.hidden);
  const MatrixView<float> memory =
      out.add("encoder_last_hidden_state", {B, S, info.source_d_model});
  if (sound)
    model.encode(batch, input.input_features->view<3>(), memory, encoder.get());
  else
    model.encode(batch, input.tokens->view(), memory, encoder.get());
  if (last_is_normed) encoder.put_last(memory);
  if (!sound) detail::clear_padding(out, "encoder_", *input.tokens);

  detail::StateRecorder decoder(out, "decoder_hidden_states", B, options.hidden);
  model.start(batch, memory, T + (std::max)(options.greedy - 1, index_t{0}));
  const MatrixView<float> hidden = out.add("decoder_last_hidden_state", {B, T, info.d_model});
  model.forward(target.view(), hidden, decoder.get());
  if (last_is_normed) decoder.put_last(hidden);
  model.head(hidden, out.add("logits", {B, T, info.vocabulary}));
  out.greedy = continue_greedily(model, out.results.back().values, B, options.greedy);
  return out;
}

/// The same for an encoder of images.
inline EncoderOutput run_encoder(VisionModel& model, const EncoderInput& input,
                                 const LogitsOptions& options = {}) {
  const VisionModelInfo& info = model.info();
  detail::expect_no_greedy(options, info.family);
  input.expect(info.family, input.has_pixels);
  const auto image = input.pixel_values->view<4>();
  const index_t B = image.extent(0);
  EncoderOutput out;
  detail::StateRecorder states(out, "hidden_states", B, options.hidden),
      classes(out, "class_states", B, options.hidden);
  const MatrixView<float> hidden = out.add("last_hidden_state", {B, info.tokens, info.d_model});
  model.forward(image, hidden, states.get(), classes.get());
  if (info.pools) model.pool(hidden, out.add("pooler_output", {B, info.d_model}));
  if (info.classes > 0) model.classify(hidden, out.add("logits", {B, info.classes}));
  return out;
}

/// The same for texts, images or both.
inline EncoderOutput run_encoder(ImageTextModel& model, const EncoderInput& input,
                                 const LogitsOptions& options = {}) {
  const ImageTextModelInfo& info = model.info();
  detail::expect_no_greedy(options, info.family);
  const unsigned either = input.has_tokens | input.has_pixels;
  input.expect(info.family, 0, either);
  EncoderOutput out;
  MatrixView<float> texts, images;
  if (input.tokens) {
    const index_t B = input.tokens->batch, T = input.tokens->length;
    detail::StateRecorder states(out, "text_hidden_states", B, options.hidden);
    TokenBatch batch = input.tokens->token_batch();
    const auto hidden = out.add("text_last_hidden_state", {B, T, info.text_d_model});
    model.forward_text(batch, input.tokens->view(), hidden, states.get());
    texts = out.add("text_embeds", {B, info.projection});
    model.embed_text(batch, input.tokens->view(), hidden, texts);
    detail::clear_padding(out, "text_", *input.tokens);
  }
  if (input.pixel_values) {
    const auto image = input.pixel_values->view<4>();
    const index_t B = image.extent(0);
    detail::StateRecorder states(out, "vision_hidden_states", B, options.hidden);
    const auto hidden =
        out.add("vision_last_hidden_state", {B, info.image_tokens, info.image_d_model});
    model.forward_image(image, hidden, states.get());
    const auto pooled = out.add("vision_pooler_output", {B, info.image_d_model});
    model.pool_image(hidden, pooled);
    images = out.add("image_embeds", {B, info.projection});
    model.embed_image(pooled, images);
  }
  if (input.tokens && input.pixel_values)
    model.compare(images, texts, out.add("logits_per_image", {images.extent(0), texts.extent(0)}));
  return out;
}

}  // namespace ashlar::examples
