// EXAONE 4: norms of the branches only, QK-norm, three windowed layers to a full one without
// positions.
#pragma once

#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Exaone4Spec : WindowedLlamaSpec {
  using Mixer = Attention<Rope, PerHeadNorm<RmsNorm>, SlidingWindow>;
  using Wiring = BranchNorm;
};

/// Source: LG AI Research 2025, "EXAONE 4.0".
struct Exaone4Family {
  using Spec = Exaone4Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "exaone4";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? from_gguf(GgufReader(*checkpoint.gguf()))
                             : from_json(*checkpoint.config());
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    if (checkpoint.gguf()) return gguf_names();
    NameMap map = hugging_face_names();
    add_branch_norms(map);
    return map;
  }

 private:
  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {4096, 32, 32, -1, 16384, 32, 2048, 102400}};
    Lm::Block::Config layer{.dims = read_dims(j, sizes)};
    layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-5));
    layer.mixer.qk_norm = layer.norm;
    layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim);
    layer.ffn.activation = read_activation(j, "hidden_act", "silu");
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    if (j.is_null("sliding_window")) return c;  // every layer is full and has positions
    slide(c, read_sliding_layers(j, c.layers.size(), slides_but_every(j, 4)), read_window(j, 4096));
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Block::Config layer{.dims = g.dims()};
    layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_rms_epsilon"));
    layer.mixer.qk_norm = layer.norm;
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
    layer.ffn.activation = ActivationKind::silu;
    Lm::Config c;
    g.fill_model(c, layer);
    if (!g.has("attention.sliding_window")) return c;
    std::vector<bool> sliding(c.layers.size());
    for (std::size_t i = 0; i < sliding.size(); ++i) sliding[i] = (i + 1) % 4 != 0;
    slide(c, sliding, SlidingWindow(g.size("attention.sliding_window")));
    return c;
  }
  static void slide(Lm::Config& c, const std::vector<bool>& sliding, SlidingWindow window) {
    for (std::size_t i = 0; i < sliding.size(); ++i) {
      auto& mixer = c.layers[i].mixer;
      if (sliding[i])
        mixer.mask = window;
      else
        mixer.position.rule = {.width = 0};
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
