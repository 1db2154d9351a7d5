// Golden BERT and its kin.
#pragma once

#include <ashlar/models/presets/modernbert.hpp>
#include <ashlar/models/presets/roberta.hpp>

#include "encoder_case.hpp"
#include "encoder_runs.hpp"

namespace golden {

/// The model with its state of a call.
template <class B, class Family>
class TextRun {
 public:
  using Lm = typename Family::Lm;
  using IdsView = ashlar::MatrixView<const std::int32_t>;

  explicit TextRun(const ModelCase& c) : model_(load_case<Family>(c)) {}

  index_t width() const { return model_.config.d_model; }
  index_t vocabulary() const { return model_.config.vocabulary; }
  const typename Lm::Config& config() const { return model_.config; }

  Floats hidden(IdsView tokens, IdsView types, const Lengths& lengths, Streams& streams) {
    batch_.reset(tokens.extent(0), tokens.extent(1));
    batch_.set_lengths({lengths.data(), {tokens.extent(0)}});
    Floats out = zeros(batch_.rows(), width());
    Lm::forward(ctx_, model_.config, model_.weights, batch_, tokens, types,
                matrix(out, batch_.rows()), streams.observer());
    return out;
  }
  Floats pooled(Floats& hidden) {
    Floats out = zeros(batch_.batch(), width());
    ashlar::Pooler::apply(
        ctx_, model_.config.heads.pooler, model_.weights.heads.pooler,
        ashlar::MatrixView<const float>(first_rows(batch_, matrix(hidden, batch_.rows()))),
        matrix(out, batch_.batch()));
    return out;
  }
  Floats classes(Floats& pooled) {
    const auto& c = model_.config.heads.classifier;
    Floats out = zeros(batch_.batch(), c.rows);
    ashlar::Projection::apply(ctx_, c, model_.weights.heads.classifier,
                              view(pooled, batch_.batch()), matrix(out, batch_.batch()));
    return out;
  }
  Floats logits(Floats& hidden) {
    Floats out = zeros(batch_.rows(), vocabulary());
    Lm::Heads::MaskedLm::apply(ctx_, model_.config.heads.masked_lm, model_.weights.heads.masked_lm,
                               model_.weights.embedding, view(hidden, batch_.rows()),
                               matrix(out, batch_.rows()));
    return out;
  }

 private:
  static ashlar::MatrixView<const float> view(Floats& values, index_t rows) {
    return matrix(values, rows);
  }
  ashlar::Context<B> ctx_;
  ashlar::Model<Lm> model_;
  ashlar::TokenBatch batch_;
};

template <class B, class Family>
void text_model(const ModelCase& c) {
  EncoderCase e(c);
  TextRun<B, Family> run(c);
  const index_t batch = c.sequences(), T = c.tokens();
  const Ids ids = e.ids("input_ids"),
            types = e.has("token_type_ids") ? e.ids("token_type_ids") : Ids();
  const Lengths lengths = e.lengths_of("attention_mask");
  const auto view = [&](const Ids& v) {
    return v.empty() ? ashlar::MatrixView<const std::int32_t>()
                     : ashlar::MatrixView<const std::int32_t>(v.data(), {batch, T});
  };
  Streams streams;
  Floats hidden = run.hidden(view(ids), view(types), lengths, streams);
  e.expect_states("hidden_states", streams.list, hidden, lengths);
  e.expect("last_hidden_state", hidden, lengths);
  const std::string logits = e.has("prediction_logits") ? "prediction_logits" : "logits";
  if (e.has(logits)) e.expect(logits, run.logits(hidden), lengths);
  if (e.has("pooler_output")) {
    Floats pooled = run.pooled(hidden);
    e.expect("pooler_output", pooled);
    if (e.has("seq_relationship_logits")) e.expect("seq_relationship_logits", run.classes(pooled));
  }
  e.expect_complete();

  // Each sequence by itself and without padding: the same bits.
  for (index_t b = 0; b < batch; ++b) {
    const index_t n = lengths[e.at(b)];
    const auto part = [&](const Ids& v) {
      return v.empty() ? view(v) : view(v).slice(0, b, b + 1).slice(1, 0, n);
    };
    Streams alone;
    const Floats got = run.hidden(part(ids), part(types), {n}, alone);
    const auto first = hidden.begin() + b * T * run.width();
    EXPECT_TRUE(support::same_bits(got, Floats(first, first + n * run.width()))) << "alone " << b;
  }
}

template <class B>
void EncoderRuns<B>::bert(const ModelCase& c) {
  text_model<B, ashlar::BertFamily>(c);
}
template <class B>
void EncoderRuns<B>::roberta(const ModelCase& c) {
  text_model<B, ashlar::RobertaFamily>(c);
}
template <class B>
void EncoderRuns<B>::modernbert(const ModelCase& c) {
  text_model<B, ashlar::ModernBertFamily>(c);
}

}  // namespace golden
