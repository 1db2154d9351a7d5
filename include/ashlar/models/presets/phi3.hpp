// Phi 3 and 4: Llama's block with q, k and v, and gate and up in one tensor each, and LongRoPE.
#pragma once

#include <ashlar/models/presets/mistral.hpp>
#include <ashlar/models/presets/name_pairs.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Abdin et al. 2024.
struct Phi3Family {
  using Spec = WindowedLlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "phi3";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{.absent = {.d_model = 3072,
                                   .n_heads = 32,
                                   .d_ff = 8192,
                                   .layers = 32,
                                   .positions = 4096,
                                   .vocabulary = 32064}};
    auto layer = read_llama_layer<Lm::Block::Config>(
        j, keys, 1e-5, {.partial = 1.0, .rounds_up = true, .trained = 4096, .longrope_only = true});
    layer.mixer.mask = read_window(j);
    Lm::Config c;
    fill_model(c, j, layer, false, keys);
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config& c) {
    const Dims& d = c.layers.at(0).dims;
    NameMap map = hugging_face_names();
    map += NamePairs("model.layers.{}.").fused_qkv("self_attn.qkv_proj", d).layer_map();
    add_fused_gate_up(map, d.d_ff);
    return map;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
