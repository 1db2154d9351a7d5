// Qwen 2 and 2.5: Llama's block with biases on q, k and v, and a window on the upper layers.
#pragma once

#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace detail {
/// What Qwen 2 and 3 have in common; `head_dim` is that of absent keys, or -1.
template <class Lm>
typename Lm::Config read_qwen(const ConfigReader& j, index_t head_dim) {
  const SizeKeys sizes{.absent = {4096, 32, 32, head_dim, 22016, 32, 32768, 151936}};
  auto layer = read_llama_layer<typename Lm::Block::Config>(j, sizes, 1e-6);
  typename Lm::Config c;
  fill_model(c, j, layer, false, sizes);

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
  auto layer = read_llama_layer<typename Lm::Block::Config>(g, RopePairing::half_split);
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
                                     : detail::read_qwen<Lm>(*checkpoint.config(), -1);
    for (auto& layer : c.layers) layer.mixer.bias = {true, true, true, false};
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return checkpoint.gguf() ? gguf_names() : hugging_face_names();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
