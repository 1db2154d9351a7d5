// GPT-2, from Hugging Face folders and GGUF files.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/hugging_face_names.hpp>
#include <ashlar/models/presets/name_pairs.hpp>
#include <ashlar/nn/specs.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// GPT-2's block with an activation that the checkpoint names.
struct Gpt2FileSpec : Gpt2Spec {
  using Ffn = Mlp<act::Chosen>;
};

/// Source: Radford et al. 2019.
struct Gpt2Family {
  using Spec = Gpt2FileSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "gpt2";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? from_gguf(GgufReader(*checkpoint.gguf()))
                             : from_json(*checkpoint.config());
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    const Dims& d = c.layers.at(0).dims;
    if (checkpoint.gguf()) {
      NameMap map = gguf_names();
      map += NamePairs("blk.{}.").fused_qkv("attn_qkv", d).layer_map();
      return map;
    }
    NameMap map = NamePairs("transformer.")
                      .one("embedding", "wte.weight")
                      .one("position.table", "wpe.weight")
                      .norm("final_norm", "ln_f")
                      .map();
    map.model.push_back({"head", "lm_head.weight"});
    map += NamePairs("transformer.h.{}.")
               .norm("mixer_norm", "ln_1")
               .fused_qkv("attn.c_attn", d)
               .linear("mixer.o", "attn.c_proj")
               .norm("ffn_norm", "ln_2")
               .linear("ffn.up", "mlp.c_fc")
               .linear("ffn.down", "mlp.c_proj")
               .ignore(".attn.bias")
               .ignore(".attn.masked_bias")
               .ignore("lm_head.weight")
               .layer_map();
    for (NameRule& rule : map.layer)  // matrices are stored [in, out]
      rule.as.transposed = (rule.weight.starts_with("mixer.") || rule.weight.starts_with("ffn.")) &&
                           !rule.weight.ends_with("_bias");
    drop_absent_prefix(map, checkpoint.tensors(), "transformer.");
    return map;
  }

 private:
  static Lm::Block::Config layer_of(const Dims& dims, double eps) {
    Lm::Block::Config layer{.dims = dims};
    layer.norm.eps = static_cast<float>(eps);
    layer.mixer.bias = {true, true, true, true};
    layer.ffn.activation = ActivationKind::gelu_tanh;
    return layer;
  }
  static Lm::Config from_json(const ConfigReader& j) {
    expect_switch(j, "add_cross_attention", false);
    const SizeKeys keys{
        .d_model = "n_embd",
        .n_heads = "n_head",
        .n_kv_heads = "",
        .head_dim = "",
        .d_ff = "n_inner",
        .layers = "n_layer",
        .positions = "n_positions",
        .absent = {
            .d_model = 768, .n_heads = 12, .layers = 12, .positions = 1024, .vocabulary = 50257}};
    Lm::Block::Config layer =
        layer_of(read_dims(j, keys, 4 * j.size(keys.d_model, keys.absent.d_model)),
                 j.positive("layer_norm_epsilon", 1e-5));
    layer.ffn.activation = read_activation(j, "activation_function", "gelu_new");
    Lm::Config c;
    fill_model(c, j, layer, true, keys);
    c.position.positions = c.context_length;
    const bool scaled = j.boolean("scale_attn_weights", true),
               by_layer = j.boolean("scale_attn_by_inverse_layer_idx", false);
    const double head = scaled ? static_cast<double>(layer.dims.head_dim) : 1.0;
    for (std::size_t i = 0; i < c.layers.size(); ++i)
      c.layers[i].mixer.scale =
          static_cast<float>(1.0 / std::sqrt(head) / (by_layer ? static_cast<double>(i + 1) : 1.0));
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Config c;
    g.fill_model(c, layer_of(g.dims(), g.positive("attention.layer_norm_epsilon")));
    c.position.positions = c.context_length;
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
