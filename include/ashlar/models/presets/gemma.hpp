// Gemma 1, and what all Gemmas have in common.
#pragma once

#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/llama_layer.hpp>
#include <ashlar/nn/specs.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Llama's block with norms of weight 1 + w and a gate that the checkpoint names (GELU).
struct GemmaSpec : LlamaSpec {
  using Norm = GemmaRmsNorm;
  using Ffn = Glu<act::Chosen>;
};

namespace detail {
/// A layer of Gemma 1 to 3 but for its activation and rotary rule.
template <class Lm>
typename Lm::Block::Config read_gemma_layer(const ConfigReader& j, const SizeKeys& sizes) {
  expect_switch(j, "use_bidirectional_attention", false);
  typename Lm::Block::Config layer{.dims = read_dims(j, sizes)};
  layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-6));
  const bool bias = j.boolean("attention_bias", false);
  layer.mixer.bias = {bias, bias, bias, bias};
  return layer;
}
template <class Lm>
typename Lm::Block::Config read_gemma_layer(const GgufReader& g) {
  typename Lm::Block::Config layer{.dims = g.dims()};
  layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_rms_epsilon"));
  layer.ffn.activation = ActivationKind::gelu_tanh;
  return layer;
}
/// Embeddings enter the first layer times sqrt(D).
template <class Config>
void scale_gemma_embeddings(Config& c) {
  c.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(c.d_model)));
}
/// query_pre_attn_scalar^-0.5 of config.json.
inline float read_query_scale(const ConfigReader& j) {
  return static_cast<float>(1.0 / std::sqrt(j.positive("query_pre_attn_scalar", 256)));
}
/// The same for a GGUF file, which does not say it: the scale of a head of D / N elements in the
/// 27B model, known by its layers, else that of the head.
inline float query_scale(const GgufReader& g, const Dims& d, index_t layers_of_27b) {
  const bool by_width = g.size("block_count") == layers_of_27b;
  const index_t width = by_width ? d.d_model / d.n_heads : d.head_dim;
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(width)));
}
/// A cap of scores or logits: null means none, an absent key the family's own.
inline float read_cap(const ConfigReader& j, std::string_view key, double usual) {
  if (j.is_null(key)) return 0.f;
  return static_cast<float>(usual > 0 || j.has(key) ? j.positive(key, usual) : 0.0);
}
/// GGUF files have 1 + w, the weights of these norms are w.
inline NameMap gemma_gguf_names() {
  NameMap map = gguf_names();
  for (auto* rules : {&map.model, &map.layer})
    for (NameRule& rule : *rules)
      if (rule.weight.ends_with("norm.gain")) rule.as.add = -1;
  return map;
}
/// What Gemma 2 and 3 have in common.
template <class Family>
struct SandwichedGemma {
  static auto config(const Checkpoint& checkpoint) {
    auto c = InBothForms<Family>::config(checkpoint);
    scale_gemma_embeddings(c);
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const auto& /*config*/) {
    if (checkpoint.gguf()) return gemma_gguf_names();
    NameMap map = hugging_face_names();
    add_branch_norms(map);
    return map;
  }
};
}  // namespace detail

/// Source: Gemma Team 2024.
struct GemmaFamily {
  using Spec = GemmaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "gemma";

  static Lm::Config config(const Checkpoint& checkpoint) {
    Lm::Config c = checkpoint.gguf() ? from_gguf(GgufReader(*checkpoint.gguf()))
                                     : from_json(*checkpoint.config());
    detail::scale_gemma_embeddings(c);
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return checkpoint.gguf() ? detail::gemma_gguf_names() : hugging_face_names();
  }

 private:
  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {3072, 16, 16, 256, 24576, 28, 8192, 256000}};
    Lm::Block::Config layer = detail::read_gemma_layer<Lm>(j, sizes);
    layer.mixer.position.rule =
        read_rope_rule(j, layer.dims.head_dim, {.positions = sizes.absent.positions});
    layer.ffn.activation = read_activation(j, "hidden_act", "gelu_pytorch_tanh");
    // The first published files say "gelu" and mean its tanh form.
    if (layer.ffn.activation == ActivationKind::gelu)
      layer.ffn.activation = ActivationKind::gelu_tanh;
    Lm::Config c;
    fill_model(c, j, layer, true, sizes);
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Block::Config layer = detail::read_gemma_layer<Lm>(g);
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
