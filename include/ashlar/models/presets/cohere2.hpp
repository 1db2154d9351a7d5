// Command R7B: Command R with three windowed layers to a full one, which has no positions.
#pragma once

#include <ashlar/models/presets/cohere.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Cohere 2024, "Command R7B"; Yang et al. 2025, "Rope to Nope and Back Again".
struct Cohere2Family : InBothForms<Cohere2Family> {
  using Spec = CohereSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "cohere2";

  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    return detail::cohere_names(checkpoint, c);
  }

  static Lm::Config from_json(const ConfigReader& j) {
    expect_switch(j, "use_qk_norm", false);
    Lm::Config c = detail::read_cohere<Lm>(j, 10'000);
    slide_or_drop_positions(c, read_sliding_layers(j, c.layers.size(), slides_but_every(j, 4)),
                            read_window(j, 4096));
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Config c = detail::read_cohere<Lm>(g);
    slide_or_drop_positions(c, all_slide_but_every(c.layers.size(), 4),
                            SlidingWindow(g.size("attention.sliding_window")));
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
