// Phi 1, 1.5 and 2: mixer and feed-forward side by side after one norm, biases everywhere.
#pragma once

#include <ashlar/models/presets/gptj.hpp>
#include <ashlar/models/presets/rope_config.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct PhiSpec : ParallelOneNormSpec {
  using Mixer = Attention<Rope, OptionalQkNorm<PerHeadNorm<LayerNorm>>>;
};

/// Source: Li et al. 2023; Javaheripi et al. 2023.
struct PhiFamily {
  using Spec = PhiSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "phi";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{.absent = {.d_model = 2048,
                                   .n_heads = 32,
                                   .d_ff = 8192,
                                   .layers = 24,
                                   .positions = 2048,
                                   .vocabulary = 51200}};
    Lm::Block::Config layer{.dims = read_dims(j, keys)};
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-5));
    layer.mixer.position.rule = read_rope_rule(
        j, layer.dims.head_dim, {.partial = 0.5, .positions = keys.absent.positions});
    layer.mixer.qk_norm.eps = layer.norm.eps;
    layer.mixer.qk_norm.enabled = j.boolean("qk_layernorm", false);
    layer.mixer.bias = {true, true, true, true};
    layer.ffn.activation = read_activation(j, "hidden_act", "gelu_new");
    Lm::Config c;
    fill_model(c, j, layer, false, keys);
    c.head_bias = true;
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config&) {
    NameMap map = hugging_face_names();
    map += NamePairs("model.").norm("final_norm", "final_layernorm").map();
    map += NamePairs("model.layers.{}.")
               .linear("mixer.o", "self_attn.dense")
               .norm("mixer.q_norm", "self_attn.q_layernorm")
               .norm("mixer.k_norm", "self_attn.k_layernorm")
               .linear("ffn.up", "mlp.fc1")
               .linear("ffn.down", "mlp.fc2")
               .layer_map();
    return map;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
