// plan_rules: the field's rules of thumb as code. Habits with a source each, no laws of nature.
#pragma once

#include <ashlar/core/error.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI::plan {

/// The widths of a model to be planned.
struct Shape {
  index_t vocabulary = 0, d_model = 0, layers = 0;
  index_t n_heads = 0, n_kv_heads = 0, head_dim = 0, d_ff = 0;
  bool gated = true, tied_head = false;

  double aspect() const { return static_cast<double>(d_model) / static_cast<double>(layers); }
  double ffn_ratio() const { return static_cast<double>(d_ff) / static_cast<double>(d_model); }
};

/// Hidden width of a feed-forward: 4 D for two matrices; for the three of a gated one 2/3 of that,
/// so that both have as many parameters, rounded up to a multiple that suits the machine.
/// Source: Vaswani et al. 2017; Shazeer 2020; Llama (Touvron et al. 2023) rounds up to 256.
inline index_t ffn_width(index_t d_model, bool gated, index_t multiple = 256) {
  if (d_model < 1 || multiple < 1)
    fail<ValueError>("ffn_width: width ", d_model, " and multiple ", multiple,
                     ", expected at least 1");
  return gated ? round_up(8 * d_model / 3, multiple) : 4 * d_model;
}

/// Heads of 64 in models below a width of 2048, of 128 above; heads x head_dim = D.
/// Source: GPT-2 (64), Llama (128). Gemma and T5-11B leave the rule, most models keep it.
inline index_t usual_head_dim(index_t d_model) { return d_model < 2048 ? 64 : 128; }

/// Aspect ratio D / layers: the band of most large models, and its usual value. Loss changes
/// little: within 3 % over a factor of 40 (Kaplan et al. 2020, figure 5). Examples: GPT-3 12288 /
/// 96 = 128, Llama-2-7B 4096 / 32 = 128, PaLM 18432 / 118 = 156; small models are deeper: GPT-2 768
/// / 12 = 64, SmolLM2-135M 576 / 30 = 19.
inline constexpr double least_aspect = 100, usual_aspect = 128, most_aspect = 200;

/// Entries of a vocabulary. One language takes 30 to 50 thousand (GPT-2 50257, Llama 2 32000), many
/// languages 100 to 260 thousand (Llama 3 128256, Qwen 3 151936, Gemma 3 262144).
inline constexpr index_t monolingual_vocabulary = 49'152, multilingual_vocabulary = 131'072;
/// A multiple of 64 or 128 keeps the head's product on whole tiles. Source: Karpathy, nanoGPT 2023,
/// 50257 to 50304.
inline index_t padded_vocabulary(index_t entries, index_t multiple = 128) {
  return round_up(entries, multiple);
}

/// Decoupled weight decay of AdamW: 0.1 since GPT-3 (Brown et al. 2020; Llama, Chinchilla). In one
/// pass over the data it serves the optimisation, not against overfitting (Andriushchenko et al.
/// 2023). Gains and biases are usually left out.
inline constexpr double weight_decay = 0.1;
/// Dropout: 0.1 where data is seen many times (Vaswani et al. 2017, GPT-2), none in one pass over
/// it (PaLM, Llama).
inline constexpr double dropout(double epochs) { return epochs > 1 ? 0.1 : 0.0; }
/// Peak learning rate of Adam for N parameters without embeddings, 0.003239 - 0.0001395 ln N: a fit
/// for N up to a billion; larger models take less. Source: Kaplan et al. 2020, equation D.1.
inline double learning_rate(double non_embedding) {
  return 0.003239 - 0.0001395 * std::log(non_embedding);
}

/// Operations to train N parameters on D tokens, C = 6 N D. Attention is left out, so it is right
/// for contexts well below 12 D. Source: Kaplan et al. 2020, section 2.1.
inline constexpr double training_compute(double parameters, double tokens) {
  return 6 * parameters * tokens;
}

/// A model size and an amount of data.
struct Allocation {
  double parameters = 0, tokens = 0;
};
/// About 20 tokens a parameter: with C = 6 N D, N = sqrt(C / 120). Source: Hoffmann et al. 2022
/// (Chinchilla). It minimises the cost of training; a model that is served much is made smaller and
/// trained longer (Llama-3-8B saw 1900 tokens a parameter).
inline Allocation chinchilla(double compute, double tokens_per_parameter = 20) {
  const double n = std::sqrt(compute / (6 * tokens_per_parameter));
  return {n, tokens_per_parameter * n};
}
/// N = 1.3e9 C^0.73 for C in PF-days (8.64e19 operations), without embeddings; D = C / (6 N).
/// Source: Kaplan et al. 2020, table 6. Grows models too fast: its learning-rate schedules did not
/// fit the lengths of the runs (Hoffmann et al. 2022).
inline Allocation kaplan(double compute) {
  const double n = 1.3e9 * std::pow(compute / 8.64e19, 0.73);
  return {n, compute / (6 * n)};
}
/// Loss in nats a token, 1.69 + 406.4 / N^0.34 + 410.7 / D^0.28, of the authors' data and
/// tokenizer: good for comparing plans. Source: Hoffmann et al. 2022, appendix D.3.
inline double chinchilla_loss(double parameters, double tokens) {
  return 1.69 + 406.4 / std::pow(parameters, 0.34) + 410.7 / std::pow(tokens, 0.28);
}

/// Bytes a parameter of mixed-precision training with Adam: weight and gradient of 2, the F32 copy
/// and two moments of 4 each. Source: Rajbhandari et al. 2020 (ZeRO).
inline constexpr double adam_bytes_per_parameter = 16;

/// Parameters of a shape without biases, close enough to choose one by.
inline double estimated_parameters(const Shape& s) {
  const auto n = [](index_t i) { return static_cast<double>(i); };
  const double attention = n(s.d_model) * n(2 * s.n_heads + 2 * s.n_kv_heads) * n(s.head_dim);
  const double ffn = n(s.gated ? 3 : 2) * n(s.d_model) * n(s.d_ff);
  return n(s.layers) * (attention + ffn + 2 * n(s.d_model)) + n(s.d_model) +
         n(s.tied_head ? 1 : 2) * n(s.vocabulary) * n(s.d_model);
}

/// What propose() is asked for beside the number of parameters.
struct ShapeWishes {
  index_t vocabulary = monolingual_vocabulary;
  bool gated = true;
  index_t query_heads_per_kv_head = 4;  // 1: multi-head. Source: Ainslie et al. 2023
  double aspect = usual_aspect;
};

/// The shape of about so many parameters that keeps to the rules above. The head is tied where the
/// vocabulary would take more than a sixth of the parameters otherwise.
/// Throws ValueError where even the smallest shape has twice as many.
inline Shape propose(double parameters, const ShapeWishes& wishes = {}) {
  if (wishes.vocabulary < 1 || wishes.query_heads_per_kv_head < 1 || !(wishes.aspect > 0))
    fail<ValueError>("propose: vocabulary ", wishes.vocabulary, ", ",
                     wishes.query_heads_per_kv_head, " queries a key head, aspect ", wishes.aspect,
                     ", expected numbers above 0");
  Shape best;
  double least = HUGE_VAL;
  const index_t most_width = 32'768, most_layers = 256;
  for (index_t width = 64; width <= most_width; width += usual_head_dim(width)) {
    Shape s{.vocabulary = wishes.vocabulary, .d_model = width, .gated = wishes.gated};
    s.head_dim = usual_head_dim(width);
    s.n_heads = width / s.head_dim;
    if (width % s.head_dim != 0) continue;
    // Groups of the wished size, or of the next smaller one that divides the heads.
    index_t group = min_index(wishes.query_heads_per_kv_head, s.n_heads);
    while (s.n_heads % group != 0) --group;
    s.n_kv_heads = s.n_heads / group;
    s.d_ff = ffn_width(width, wishes.gated, width < 1024 ? 64 : 256);
    const double vocabulary = static_cast<double>(s.vocabulary) * static_cast<double>(width);
    s.tied_head = 2 * vocabulary > parameters / 6;
    for (s.layers = 2; s.layers <= most_layers; ++s.layers) {
      // A shape twice off the aspect weighs as much as one 7 % off the number of parameters.
      const double off = std::log(estimated_parameters(s) / parameters);
      const double bent = std::log(s.aspect() / wishes.aspect);
      const double cost = off * off + 0.01 * bent * bent;
      if (cost < least) best = s;
      least = cost < least ? cost : least;
    }
  }
  if (const double got = estimated_parameters(best); !(got < 2 * parameters))
    fail<ValueError>("propose: ", parameters, " parameters with a vocabulary of ",
                     wishes.vocabulary, "; the smallest shape has ", got);
  return best;
}

}  // namespace ashlar::inline ASHLAR_ABI::plan
