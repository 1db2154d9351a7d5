// Llama: Llama 1 to 3.x, SmolLM 1 and 2, and every checkpoint that calls itself "llama".
#pragma once

#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/llama_layer.hpp>
#include <ashlar/nn/specs.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Touvron et al. 2023; Grattafiori et al. 2024.
struct LlamaFamily : InBothForms<LlamaFamily> {
  using Spec = LlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "llama";

  static Lm::Config from_json(const ConfigReader& j) {
    if (const auto act = j.string("hidden_act", "silu"); act != "silu" && act != "swish")
      j.refuse("hidden_act", act, "silu, swish");
    const SizeKeys sizes{.absent = {4096, 32, -1, -1, 11008, 32, 2048, 32000}};
    auto layer = read_llama_layer<Lm::Block::Config>(j, sizes, 1e-6);
    layer.mixer.bias = read_attention_bias(j);
    layer.ffn.bias = j.boolean("mlp_bias", false);
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    auto layer = read_llama_layer<Lm::Block::Config>(g, RopePairing::interleaved);
    const bool qkv = g.file().find("blk.0.attn_q.bias") != nullptr;
    layer.mixer.bias = {qkv, qkv, qkv, g.file().find("blk.0.attn_output.bias") != nullptr};
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
