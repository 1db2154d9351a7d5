// StableLM: Llama's block with LayerNorm, partial rotary, and norms of every head in some models.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/models/presets/gptj.hpp>
#include <ashlar/models/presets/rope_config.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct StableLmSpec : RotaryLayerNormSpec {
  using Mixer = Attention<Rope, OptionalQkNorm<PerHeadOwnNorm<LayerNorm>>>;
  using Ffn = Glu<act::Chosen>;
};
struct ParallelStableLmSpec : StableLmSpec {
  using Wiring = ParallelOneNorm;
};

/// Source: Bellagente et al. 2024. Two kinds of one name.
template <bool Parallel>
struct StableLmKind {
  using Spec = std::conditional_t<Parallel, ParallelStableLmSpec, StableLmSpec>;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "stablelm";

  static bool accepts(const Checkpoint& checkpoint) {
    return checkpoint.json().boolean("use_parallel_residual", false) == Parallel;
  }
  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{.head_dim = "",
                        .absent = {.d_model = 2560,
                                   .n_heads = 32,
                                   .n_kv_heads = 32,
                                   .d_ff = 6912,
                                   .layers = 32,
                                   .positions = 4096,
                                   .vocabulary = 50304}};
    typename Lm::Block::Config layer{.dims = read_dims(j, keys)};
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-5));
    layer.mixer.position.rule = read_rope_rule(
        j, layer.dims.head_dim, {.partial = 0.25, .positions = keys.absent.positions});
    layer.mixer.qk_norm.eps = layer.norm.eps;
    layer.mixer.qk_norm.bias = false;
    layer.mixer.qk_norm.enabled = j.boolean("qk_layernorm", false);
    const bool bias = j.boolean("use_qkv_bias", false);
    layer.mixer.bias = {bias, bias, bias, false};
    layer.ffn.activation = read_activation(j, "hidden_act", "silu");
    typename Lm::Config c;
    fill_model(c, j, layer, false, keys);
    return c;
  }
  /// Every head's norm is a tensor of its own.
  static NameMap names(const Checkpoint&, const typename Lm::Config& c) {
    const Dims& d = c.layers.at(0).dims;
    NameMap map = hugging_face_names();
    map += NamePairs("model.layers.{}.self_attn.")
               .one("mixer.q_norm.gain", "q_layernorm.norms.{}.weight", {.parts = d.n_heads})
               .one("mixer.k_norm.gain", "k_layernorm.norms.{}.weight", {.parts = d.n_kv_heads})
               .layer_map();
    return map;
  }
};
using StableLmFamily = Families<StableLmKind<false>, StableLmKind<true>>;

}  // namespace ashlar::inline ASHLAR_ABI
