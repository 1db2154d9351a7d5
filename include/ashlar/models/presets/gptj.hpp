// GPT-J: mixer and feed-forward side by side after one norm, interleaved rotary positions.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/hugging_face_names.hpp>
#include <ashlar/models/presets/name_pairs.hpp>
#include <ashlar/nn/specs.hpp>
#include <ashlar/nn/wiring/parallel.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// LayerNorm, rotary positions and a plain feed-forward: what GPT-J and its successors share.
struct RotaryLayerNormSpec {
  using Norm = LayerNorm;
  using Mixer = Attention<Rope>;
  using Ffn = Mlp<act::Chosen>;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
  using InputPosition = NoPosition;
};
struct ParallelOneNormSpec : RotaryLayerNormSpec {
  using Wiring = ParallelOneNorm;
};
struct ParallelTwoNormsSpec : RotaryLayerNormSpec {
  using Wiring = ParallelTwoNorms;
};

/// Source: Wang and Komatsuzaki 2021.
struct GptjFamily {
  using Spec = ParallelOneNormSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "gptj";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys keys{
        .d_model = "n_embd",
        .n_heads = "n_head",
        .n_kv_heads = "",
        .head_dim = "",
        .d_ff = "n_inner",
        .layers = "n_layer",
        .positions = "n_positions",
        .absent = {
            .d_model = 4096, .n_heads = 16, .layers = 28, .positions = 2048, .vocabulary = 50400}};
    Lm::Block::Config layer{.dims =
                                read_dims(j, keys, 4 * j.size(keys.d_model, keys.absent.d_model))};
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_epsilon", 1e-5));
    RopeRule& rule = layer.mixer.position.rule;
    rule.width = j.size("rotary_dim", 64, 1, layer.dims.head_dim);
    if (rule.width % 2 != 0)
      fail<ValueError>(j.what("rotary_dim"), " is ", rule.width, ", expected an even number");
    layer.mixer.position.pairing = RopePairing::interleaved;
    layer.ffn.activation = read_activation(j, "activation_function", "gelu_new");
    Lm::Config c;
    fill_model(c, j, layer, false, keys);
    c.head_bias = true;
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    NameMap map = NamePairs("transformer.")
                      .one("embedding", "wte.weight")
                      .norm("final_norm", "ln_f")
                      .ignore(".attn.bias")
                      .ignore(".attn.masked_bias")
                      .ignore(".attn.embed_positions")
                      .ignore("lm_head.weight")
                      .map();
    map += NamePairs().linear("head", "lm_head").map();
    map += NamePairs("transformer.h.{}.")
               .norm("mixer_norm", "ln_1")
               .linear("mixer.q", "attn.q_proj")
               .linear("mixer.k", "attn.k_proj")
               .linear("mixer.v", "attn.v_proj")
               .linear("mixer.o", "attn.out_proj")
               .linear("ffn.up", "mlp.fc_in")
               .linear("ffn.down", "mlp.fc_out")
               .layer_map();
    drop_absent_prefix(map, checkpoint.tensors(), "transformer.");
    return map;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
