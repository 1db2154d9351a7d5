// Command R: both branches side by side after one LayerNorm without bias, neighbours turn together.
#pragma once

#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/mistral.hpp>
#include <ashlar/nn/wiring/parallel.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Command R, R+ (with QK-norm) and R7B (with windows).
struct CohereSpec : WindowedLlamaSpec {
  using Norm = LayerNorm;
  using Mixer = Attention<Rope, OptionalQkNorm<PerHeadOwnNorm<LayerNorm>>, SlidingWindow>;
  using Wiring = ParallelOneNorm;
};

namespace detail {
/// What Command R and its successor have in common.
template <class Lm>
typename Lm::Config read_cohere(const ConfigReader& j, double theta) {
  const SizeKeys sizes{.absent = {8192, 64, -1, -1, 22528, 40, 8192, 256000}};
  typename Lm::Block::Config layer{.dims = read_dims(j, sizes)};
  layer.norm = {.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-5)), .bias = false};
  layer.mixer.qk_norm = {layer.norm, j.boolean("use_qk_norm", false)};
  layer.mixer.position.rule =
      read_rope_rule(j, layer.dims.head_dim, {.theta = theta, .positions = sizes.absent.positions});
  layer.mixer.position.pairing = RopePairing::interleaved;
  const bool bias = j.boolean("attention_bias", false);
  layer.mixer.bias = {bias, bias, bias, bias};
  layer.ffn.activation = read_activation(j, "hidden_act", "silu");
  typename Lm::Config c;
  fill_model(c, j, layer, true, sizes);
  c.logit_scale = static_cast<float>(j.number("logit_scale", 0.0625));
  return c;
}
template <class Lm>
typename Lm::Config read_cohere(const GgufReader& g) {
  typename Lm::Block::Config layer{.dims = g.dims()};
  layer.norm = {.eps = static_cast<float>(g.positive("attention.layer_norm_epsilon")),
                .bias = false};
  layer.mixer.qk_norm = {layer.norm, g.file().find("blk.0.attn_q_norm.weight") != nullptr};
  layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
  layer.mixer.position.pairing = RopePairing::interleaved;
  layer.ffn.activation = ActivationKind::silu;
  typename Lm::Config c;
  g.fill_model(c, layer);
  c.logit_scale = static_cast<float>(g.positive("logit_scale"));
  return c;
}
template <class Config>
NameMap cohere_names(const Checkpoint& checkpoint, const Config& c) {
  NameMap map = checkpoint.gguf() ? gguf_names() : hugging_face_names();
  store_head_norms_as_matrices(map, c.layers.at(0).dims);
  return map;
}
}  // namespace detail

/// Source: Cohere 2024, "Command R".
struct CohereFamily {
  using Spec = CohereSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "cohere", gguf_name = "command-r";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? detail::read_cohere<Lm>(GgufReader(*checkpoint.gguf()))
                             : detail::read_cohere<Lm>(*checkpoint.config(), 500'000);
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    return detail::cohere_names(checkpoint, c);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
