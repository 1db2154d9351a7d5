// Golden encoder-decoders.
#pragma once

#include <ashlar/models/encoder_decoder.hpp>

#include "encoder_case.hpp"
#include "encoder_runs.hpp"

namespace golden {

/// Some sequences of a case: the encoder's input and the target.
struct SequenceInput {
  index_t batch = 0, tokens = 0, target = 0;  // tokens: of the encoder's states
  Ids source, targets;
  Floats features;  // [B, C, frames] of audio
  std::vector<index_t> features_shape;
  Lengths lengths;

  explicit SequenceInput(const EncoderCase& e) {
    const std::string target_name = e.has("tgt_ids") ? "tgt_ids" : "decoder_input_ids";
    targets = e.ids(target_name);
    batch = e.shape(target_name)[0];
    target = e.shape(target_name)[1];
    tokens = e.shape("encoder_last_hidden_state")[1];
    if (e.has("input_features")) {
      features = e.floats("input_features");
      features_shape = e.shape("input_features");
      lengths.assign(e.at(batch), tokens);
    } else {
      source = e.ids(e.has("src_ids") ? "src_ids" : "input_ids");
      lengths = e.has("src_lengths") ? e.model().expected<index_t>("src_lengths")
                                     : e.lengths_of("attention_mask");
    }
  }
  /// Sequence b by itself, without padding.
  SequenceInput alone(index_t b) const {
    SequenceInput one = *this;
    const auto cut = [&](auto& v, index_t count) {
      const index_t each = static_cast<index_t>(v.size()) / batch;
      v.assign(v.begin() + b * each, v.begin() + b * each + count);
    };
    one.batch = 1;
    one.lengths = {lengths[EncoderCase::at(b)]};
    one.tokens = one.lengths[0];
    cut(one.targets, target);
    if (!source.empty()) cut(one.source, one.tokens);
    if (!features.empty()) {
      cut(one.features, features_shape[1] * features_shape[2]);
      one.features_shape[0] = 1;
    }
    return one;
  }
};

template <class B, class Family>
class SequenceRun {
 public:
  using Lm = typename Family::Lm;

  SequenceRun(const ashlar::Model<Lm>& model, SequenceInput input)
      : model_(model),
        in_(std::move(input)),
        batch_(in_.batch, in_.tokens),
        state_(model.config, in_.batch, in_.target, in_.tokens) {
    batch_.set_lengths({in_.lengths.data(), {in_.batch}});
  }

  /// The encoder's states, which the decoder's layers remember.
  Floats encode(Streams& streams) {
    const auto& c = model_.config.encoder;
    const auto& w = model_.weights.encoder;
    Floats memory = zeros(batch_.rows(), c.d_model);
    const auto out = matrix(memory, batch_.rows());
    if constexpr (requires { c.vocabulary; }) {
      Lm::Source::forward(
          ctx_, c, w, batch_,
          ashlar::MatrixView<const std::int32_t>(in_.source.data(), {in_.batch, in_.tokens}), {},
          out, streams.observer());
    } else {
      const auto& s = in_.features_shape;
      Lm::Source::forward(
          ctx_, c, w, batch_,
          ashlar::TensorView<const float, 3>(in_.features.data(), {s[0], s[1], s[2]}), out,
          streams.observer());
    }
    Lm::remember(ctx_, model_.config, model_.weights, state_, batch_,
                 ashlar::MatrixView<const float>(out));
    return memory;
  }
  /// Hidden rows of the target's tokens first to end, sequence by sequence.
  Floats decode(index_t first, index_t end, Streams& streams) {
    const index_t rows = in_.batch * (end - first);
    Floats hidden = zeros(rows, model_.config.d_model);
    Lm::forward(ctx_, model_.config, model_.weights, state_,
                ashlar::MatrixView<const std::int32_t>(in_.targets.data(), {in_.batch, in_.target})
                    .slice(1, first, end),
                matrix(hidden, rows), streams.observer());
    return hidden;
  }
  Floats logits(Floats& hidden) {
    const index_t rows = static_cast<index_t>(hidden.size()) / model_.config.d_model;
    Floats out = zeros(rows, model_.config.vocabulary);
    Lm::head(ctx_, model_.config, model_.weights,
             ashlar::MatrixView<const float>(matrix(hidden, rows)), matrix(out, rows));
    return out;
  }
  typename Lm::State& state() { return state_; }

 private:
  const ashlar::Model<Lm>& model_;
  SequenceInput in_;
  ashlar::Context<B> ctx_;
  ashlar::TokenBatch batch_;
  typename Lm::State state_;
};

template <class B, class Family>
void sequence_model(const ModelCase& c) {
  EncoderCase e(c);
  const auto model = load_case<Family>(c);
  const SequenceInput in(e);
  const index_t D = model.config.d_model, T = in.target;
  SequenceRun<B, Family> run(model, in);
  Streams encoder, decoder, none;
  const Floats memory = run.encode(encoder);
  e.expect_states("encoder_hidden_states", encoder.list, memory, in.lengths);
  e.expect("encoder_last_hidden_state", memory, in.lengths);
  Floats hidden = run.decode(0, T, decoder);
  e.expect_states("decoder_hidden_states", decoder.list, hidden);
  e.expect("decoder_last_hidden_state", hidden);
  e.expect("logits", run.logits(hidden));
  e.expect_complete();

  const auto expect_rows = [&](const Floats& got, index_t b, index_t t, const char* what) {
    const auto row = hidden.begin() + (b * T + t) * D;
    EXPECT_TRUE(support::same_bits(got, Floats(row, row + D))) << "token " << t << what;
  };
  // One token at a time through both caches, and again from the middle.
  for (const index_t first : {index_t{0}, T / 2}) {
    run.state().truncate(first);
    for (index_t t = first; t < T; ++t) {
      const Floats got = run.decode(t, t + 1, none);
      for (index_t b = 0; b < in.batch; ++b)
        expect_rows({got.begin() + b * D, got.begin() + (b + 1) * D}, b, t, " step by step");
    }
  }
  for (index_t b = 0; b < in.batch; ++b) {
    SequenceRun<B, Family> alone(model, in.alone(b));
    alone.encode(none);
    const Floats got = alone.decode(0, T, none);
    for (index_t t = 0; t < T; ++t)
      expect_rows({got.begin() + t * D, got.begin() + (t + 1) * D}, b, t, " alone");
  }
}

}  // namespace golden
