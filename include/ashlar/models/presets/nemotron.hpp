// Nemotron: LayerNorm with weights stored less 1, squared ReLU without a gate, partial rotary.
#pragma once

#include <ashlar/models/presets/gptj.hpp>
#include <ashlar/models/presets/rope_config.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct NemotronSpec : RotaryLayerNormSpec {
  using Norm = LayerNorm1p;
};

/// Source: Parmar et al. 2024, Nemotron-4; Muralidharan et al. 2024, Minitron.
struct NemotronFamily {
  using Spec = NemotronSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "nemotron";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{.absent = {.d_model = 6144,
                                   .n_heads = 48,
                                   .d_ff = 24576,
                                   .layers = 32,
                                   .positions = 4096,
                                   .vocabulary = 256000}};
    Lm::Block::Config layer{.dims = read_dims(j, keys)};
    layer.norm.eps = static_cast<float>(j.positive("norm_eps", 1e-5));
    layer.mixer.position.rule =
        read_rope_rule(j, layer.dims.head_dim,
                       {.partial = 0.5, .rounds_up = true, .positions = keys.absent.positions});
    const bool bias = j.boolean("attention_bias", false);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn.bias = j.boolean("mlp_bias", false);
    layer.ffn.activation = read_activation(j, "hidden_act", "relu2");
    Lm::Config c;
    fill_model(c, j, layer, false, keys);
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config&) { return hugging_face_names(); }
};

}  // namespace ashlar::inline ASHLAR_ABI
