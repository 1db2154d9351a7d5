// Gemma 3, the text model: QK-norm, five windowed layers to a full one, two rotary bases.
#pragma once

#include <ashlar/models/presets/gemma.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Gemma3Spec : GemmaSpec {
  using Mixer = Attention<Rope, PerHeadNorm<GemmaRmsNorm>, SlidingWindow>;
  using Wiring = SandwichNorm;
};

/// Source: Gemma Team 2025, "Gemma 3".
struct Gemma3Family : detail::SandwichedGemma<Gemma3Family> {
  using Spec = Gemma3Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "gemma3_text", gguf_name = "gemma3";

  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {2304, 8, 4, 256, 9216, 26, 131072, 262208}};
    Lm::Block::Config layer = detail::read_gemma_layer<Lm>(j, sizes);
    layer.mixer.qk_norm = layer.norm;
    layer.mixer.scale = detail::read_query_scale(j);
    layer.ffn.activation = read_activation(j, "hidden_activation", "gelu_pytorch_tanh");
    layer.mixer.position.rule = read_rope_rule(
        j, layer.dims.head_dim,
        {.theta = 1e6, .positions = sizes.absent.positions, .layer_type = "full_attention"});
    Lm::Config c;
    fill_model(c, j, layer, true, sizes);
    c.logit_cap = detail::read_cap(j, "final_logit_softcapping", 0);
    const RopeRule local = read_rope_rule(
        j, layer.dims.head_dim,
        {.layer_type = "sliding_attention", .theta_key = "rope_local_base_freq", .scaled = false});
    slide(c, read_sliding_layers(j, c.layers.size(), slides_but_every(j, 6)), local,
          read_window(j, 4096));
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Block::Config layer = detail::read_gemma_layer<Lm>(g);
    layer.mixer.qk_norm = layer.norm;
    layer.mixer.scale = detail::query_scale(g, layer.dims, 62);
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim, 1e6);
    Lm::Config c;
    g.fill_model(c, layer);
    if (g.has("final_logit_softcapping"))
      c.logit_cap = static_cast<float>(g.positive("final_logit_softcapping"));
    const RopeRule local{.theta = g.positive("rope.freq_base_swa", 10000),
                         .width = layer.mixer.position.rule.width};
    slide(c, all_slide_but_every(c.layers.size(), 6), local,
          SlidingWindow(g.size("attention.sliding_window")));
    return c;
  }
  static void slide(Lm::Config& c, const std::vector<bool>& sliding, const RopeRule& rule,
                    SlidingWindow window) {
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      if (!sliding[i]) continue;
      c.layers[i].mixer.position.rule = rule;
      c.layers[i].mixer.mask = window;
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
