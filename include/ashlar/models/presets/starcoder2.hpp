// StarCoder 2: LayerNorm, biases everywhere, grouped heads, a window on every layer.
#pragma once

#include <ashlar/attention/mask/sliding_window.hpp>
#include <ashlar/models/presets/gptj.hpp>
#include <ashlar/models/presets/rope_config.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Starcoder2Spec : RotaryLayerNormSpec {
  using Mixer = Attention<Rope, NoQkNorm, SlidingWindow>;
};

/// Source: Lozhkov et al. 2024.
struct Starcoder2Family {
  using Spec = Starcoder2Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "starcoder2";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{.absent = {.d_model = 3072,
                                   .n_heads = 24,
                                   .n_kv_heads = 2,
                                   .d_ff = 12288,
                                   .layers = 30,
                                   .positions = 4096,
                                   .vocabulary = 49152}};
    Lm::Block::Config layer{.dims = read_dims(j, keys)};
    layer.norm.eps = static_cast<float>(j.positive("norm_epsilon", 1e-5));
    layer.mixer.position.rule =
        read_rope_rule(j, layer.dims.head_dim, {.positions = keys.absent.positions});
    layer.mixer.mask = read_window(j);
    const bool bias = j.boolean("use_bias", true);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn.bias = bias;
    layer.ffn.activation = read_activation(j, "hidden_act", "gelu_pytorch_tanh");
    Lm::Config c;
    fill_model(c, j, layer, true, keys);
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config&) {
    NameMap map = hugging_face_names();
    map += NamePairs("model.layers.{}.mlp.")
               .linear("ffn.up", "c_fc")
               .linear("ffn.down", "c_proj")
               .layer_map();
    return map;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
