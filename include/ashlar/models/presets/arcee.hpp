// Arcee's AFM: Llama's block with an ungated squared ReLU.
#pragma once

#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct ArceeSpec : LlamaSpec {
  using Ffn = Mlp<act::Chosen>;
};

/// Source: Arcee AI 2025, "AFM-4.5B"; So et al. 2021, squared ReLU.
struct ArceeFamily {
  using Spec = ArceeSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "arcee";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? from_gguf(GgufReader(*checkpoint.gguf()))
                             : from_json(*checkpoint.config());
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return checkpoint.gguf() ? gguf_names() : hugging_face_names();
  }

 private:
  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {2560, 32, -1, -1, 18432, 32, 4096, 32000}};
    Lm::Block::Config layer{.dims = read_dims(j, sizes)};
    layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-5));
    layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim);
    const bool bias = j.boolean("attention_bias", false);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn = {.bias = j.boolean("mlp_bias", false),
                 .activation = read_activation(j, "hidden_act", "relu2")};
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Block::Config layer{.dims = g.dims()};
    layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_rms_epsilon"));
    layer.mixer.position.pairing = RopePairing::interleaved;  // rows stored as in Llama's files
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
    layer.ffn = {.bias = false, .activation = ActivationKind::relu_squared};
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
