// Qwen 2 and 2.5: Llama's block with biases on q, k and v, and a window on the upper layers.
#pragma once

#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace detail {
/// What Qwen 2 and 3 have in common.
template <class Lm>
typename Lm::Config read_qwen(const ConfigReader& j) {
  typename Lm::Block::Config layer{.dims = read_dims(j)};
  layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-6));
  layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim);
  layer.ffn.activation = read_activation(j, "hidden_act", "silu");
  typename Lm::Config c;
  fill_model(c, j, layer, false);

  const bool windows = j.boolean("use_sliding_window", false);
  const index_t full = j.integer("max_window_layers", 28);
  const auto sliding =
      read_sliding_layers(j, c.layers.size(), [&](index_t i) { return windows && i >= full; });
  for (std::size_t i = 0; i < sliding.size(); ++i)
    if (windows && sliding[i]) c.layers[i].mixer.mask = read_window(j, 4096);
  return c;
}
template <class Lm>
typename Lm::Config read_qwen(const GgufReader& g) {
  typename Lm::Block::Config layer{.dims = g.dims()};
  layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_rms_epsilon"));
  layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
  layer.ffn.activation = ActivationKind::silu;
  typename Lm::Config c;
  g.fill_model(c, layer);
  return c;
}
}  // namespace detail

/// Source: Yang et al. 2024.
struct Qwen2Family {
  using Spec = WindowedLlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "qwen2";

  static Lm::Config config(const Checkpoint& checkpoint) {
    Lm::Config c = checkpoint.gguf() ? detail::read_qwen<Lm>(GgufReader(*checkpoint.gguf()))
                                     : detail::read_qwen<Lm>(*checkpoint.config());
    for (auto& layer : c.layers) layer.mixer.bias = {true, true, true, false};
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return checkpoint.gguf() ? gguf_names() : hugging_face_names();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
