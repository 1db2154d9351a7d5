// Mistral: Llama's block with a sliding window on every layer.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/hugging_face_names.hpp>
#include <ashlar/models/presets/rope_config.hpp>
#include <ashlar/nn/specs.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Llama's block with a window a layer (a default one has no end), and an activation that the
/// checkpoint names.
struct WindowedLlamaSpec : LlamaSpec {
  using Mixer = Attention<Rope, NoQkNorm, SlidingWindow>;
  using Ffn = Glu<act::Chosen>;
};

/// Source: Jiang et al. 2023. GGUF files of it call themselves "llama".
struct MistralFamily {
  using Spec = WindowedLlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "mistral";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    Lm::Block::Config layer{.dims = read_dims(j)};
    layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-6));
    layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim);
    layer.mixer.mask = read_window(j, 4096);
    layer.ffn.activation = read_activation(j, "hidden_act", "silu");
    Lm::Config c;
    fill_model(c, j, layer, false);
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config&) { return hugging_face_names(); }
};

}  // namespace ashlar::inline ASHLAR_ABI
