// The costs of a model as numbers without its type.
#pragma once

#include <array>
#include <ashlar/models/plan.hpp>
#include <ashlar/models/plan_rules.hpp>
#include <ashlar/models/plan_scratch.hpp>
#include <optional>
#include <string>

namespace ashlar::examples {

/// What the costs are asked for.
struct CostOptions {
  index_t context = 0;  ///< tokens of a sequence; 0: the model's context, or 4096
  index_t prompt = 512;
};

inline constexpr std::array weight_types{DType::f32, DType::bf16, DType::q8_0, DType::q4_0,
                                         DType::q4_k};

struct Costs {
  std::string name;
  plan::Shape shape;
  index_t context = 0, prompt = 0;
  plan::Parameters parameters;
  std::array<std::optional<index_t>, weight_types.size()> weights;  ///< empty: rows do not fit
  plan::Flops decode, forward, training;
  double kv_token = 0, kv_context = 0, kv_kept = 0;  ///< at 16 bits
  index_t state = 0, scratch = 0;
  plan::TrainingActivations activations;
};

template <class Lm>
Costs costs(std::string name, const typename Lm::Config& c, const CostOptions& options) {
  Costs r;
  r.name = std::move(name);
  const Dims& d = c.layers.front().dims;
  r.shape = {c.vocabulary, c.d_model,    static_cast<index_t>(c.layers.size()),
             d.n_heads,    d.n_kv_heads, d.head_dim,
             d.d_ff,       false,        c.tied_head};
  for (const plan::WeightShape& w : plan::weight_shapes<Lm>(c))
    r.shape.gated = r.shape.gated || w.name.ends_with("ffn.gate");
  r.context = options.context ? options.context : c.context_length ? c.context_length : 4096;
  r.prompt = min_index(options.prompt, r.context);
  r.parameters = plan::parameters<Lm>(c);
  for (std::size_t i = 0; i < weight_types.size(); ++i) try {
      r.weights[i] = plan::weight_bytes<Lm>(c, weight_types[i]);
    } catch (const ValueError&) {
    }
  r.decode = plan::decode_flops<Lm>(c, r.context);
  r.forward = plan::forward_flops<Lm>(c, r.prompt);
  r.training = plan::training_flops<Lm>(c, r.context);
  r.kv_token = plan::kv_bytes<Lm>(c, 1, DType::f16);
  r.kv_context = plan::kv_bytes<Lm>(c, r.context, DType::f16);
  r.kv_kept = plan::kv_bytes<Lm>(c, r.context, DType::f16, true);
  r.state = plan::state_bytes<Lm>(c, 1, r.context);
  r.scratch = plan::scratch_bytes<Lm>(c, r.prompt);
  r.activations = plan::training_activations<Lm>(c, r.context);
  return r;
}

}  // namespace ashlar::examples
