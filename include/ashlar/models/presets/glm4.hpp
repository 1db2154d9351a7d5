// GLM-4: norms before and after each branch, half of a head turns, gate and up in one matrix.
#pragma once

#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Glm4Spec : LlamaSpec {
  using Ffn = Glu<act::Chosen>;
  using Wiring = SandwichNorm;
};

/// Source: GLM Team 2025, GLM-4-0414.
struct Glm4Family : InBothForms<Glm4Family> {
  using Spec = Glm4Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "glm4";

  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    const index_t d_ff = c.layers.at(0).dims.d_ff;
    if (checkpoint.gguf()) {
      NameMap map = gguf_names();
      map.layer.push_back({"ffn.gate", "blk.{}.ffn_up.weight", {.total_rows = 2 * d_ff}});
      map.layer.push_back(
          {"ffn.up", "blk.{}.ffn_up.weight", {.first_row = d_ff, .total_rows = 2 * d_ff}});
      return map;
    }
    NameMap map = hugging_face_names();
    add_fused_gate_up(map, d_ff);
    const std::string layer = "model.layers.{}.";
    map.layer.push_back({"mixer_branch_norm.gain", layer + "post_self_attn_layernorm.weight"});
    map.layer.push_back({"ffn_branch_norm.gain", layer + "post_mlp_layernorm.weight"});
    return map;
  }

  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {4096, 32, 2, 128, 13696, 40, 131072, 151552}};
    auto layer = read_llama_layer<Lm::Block::Config>(j, sizes, 1.5625e-7,
                                                     {.partial = 0.5, .rounds_up = true});
    layer.mixer.position.pairing = RopePairing::interleaved;
    const bool bias = j.boolean("attention_bias", true);
    layer.mixer.bias = {bias, bias, bias, false};
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    auto layer = read_llama_layer<Lm::Block::Config>(g, RopePairing::interleaved);
    const bool bias = g.file().find("blk.0.attn_q.bias") != nullptr;
    layer.mixer.bias = {bias, bias, bias, false};
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
