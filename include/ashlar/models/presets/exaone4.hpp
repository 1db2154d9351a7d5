// EXAONE 4: norms of the branches only, QK-norm, three windowed layers to a full one without
// positions.
#pragma once

#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Exaone4Spec : WindowedLlamaSpec {
  using Mixer = Attention<Rope, PerHeadNorm<RmsNorm>, SlidingWindow>;
  using Wiring = BranchNorm;
};

/// Source: LG AI Research 2025, "EXAONE 4.0".
struct Exaone4Family : InBothForms<Exaone4Family> {
  using Spec = Exaone4Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "exaone4";

  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    if (checkpoint.gguf()) return gguf_names();
    NameMap map = hugging_face_names();
    add_branch_norms(map);
    return map;
  }

  static Lm::Config from_json(const ConfigReader& j) {
    const SizeKeys sizes{.absent = {4096, 32, 32, -1, 16384, 32, 2048, 102400}};
    auto layer = read_llama_layer<Lm::Block::Config>(j, sizes, 1e-5);
    layer.mixer.qk_norm = layer.norm;
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    if (j.is_null("sliding_window")) return c;  // every layer is full and has positions
    slide_or_drop_positions(c, read_sliding_layers(j, c.layers.size(), slides_but_every(j, 4)),
                            read_window(j, 4096));
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    auto layer = read_llama_layer<Lm::Block::Config>(g, RopePairing::half_split);
    layer.mixer.qk_norm = layer.norm;
    Lm::Config c;
    g.fill_model(c, layer);
    if (!g.has("attention.sliding_window")) return c;
    slide_or_drop_positions(c, all_slide_but_every(c.layers.size(), 4),
                            SlidingWindow(g.size("attention.sliding_window")));
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
