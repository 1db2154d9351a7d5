// Qwen 3: Qwen 2 without biases, with a norm of every query and key head.
#pragma once

#include <ashlar/models/presets/qwen2.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Qwen3Spec : WindowedLlamaSpec {
  using Mixer = Attention<Rope, PerHeadNorm<RmsNorm>, SlidingWindow>;
};

/// Source: Qwen Team 2025.
struct Qwen3Family {
  using Spec = Qwen3Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "qwen3";

  static Lm::Config config(const Checkpoint& checkpoint) {
    Lm::Config c = checkpoint.gguf() ? detail::read_qwen<Lm>(GgufReader(*checkpoint.gguf()))
                                     : detail::read_qwen<Lm>(*checkpoint.config(), 128);
    const bool bias = checkpoint.config() && checkpoint.config()->boolean("attention_bias", false);
    for (auto& layer : c.layers) {
      layer.mixer.bias = {bias, bias, bias, bias};
      layer.mixer.qk_norm = layer.norm;
    }
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return checkpoint.gguf() ? gguf_names() : hugging_face_names();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
