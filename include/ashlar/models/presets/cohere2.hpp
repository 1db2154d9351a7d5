// Command R7B: Command R with three windowed layers to a full one, which has no positions.
#pragma once

#include <ashlar/models/presets/cohere.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Cohere 2024, "Command R7B"; Yang et al. 2025, "Rope to Nope and Back Again".
struct Cohere2Family {
  using Spec = CohereSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "cohere2";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? from_gguf(GgufReader(*checkpoint.gguf()))
                             : from_json(*checkpoint.config());
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return detail::cohere_names(checkpoint);
  }

 private:
  static Lm::Config from_json(const ConfigReader& j) {
    expect_switch(j, "use_qk_norm", false);
    Lm::Config c = detail::read_cohere<Lm>(j, 10'000);
    slide(c, read_sliding_layers(j, c.layers.size(), slides_but_every(j, 4)), read_window(j, 4096));
    return c;
  }
  static Lm::Config from_gguf(const GgufReader& g) {
    Lm::Config c = detail::read_cohere<Lm>(g);
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
