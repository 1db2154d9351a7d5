// OLMo 3: OLMo 2 with three windowed layers to a full one, whose rotary rule alone is stretched.
#pragma once

#include <ashlar/models/presets/olmo2.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: OLMo Team 2025, "Olmo 3".
struct Olmo3Family {
  using Spec = Olmo2Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "olmo3";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    Lm::Config c = detail::read_olmo2<Lm>(
        j, {.theta = 500'000, .positions = 2048, .layer_type = "full_attention"});
    const RopeRule local =
        read_rope_rule(j, c.layers[0].dims.head_dim,
                       {.theta = 500'000, .layer_type = "sliding_attention", .scaled = false});
    const auto sliding = read_sliding_layers(j, c.layers.size(), slides_but_every(j, 4));
    for (std::size_t i = 0; i < sliding.size(); ++i) {
      if (!sliding[i]) continue;
      c.layers[i].mixer.position.rule = local;
      c.layers[i].mixer.mask = read_window(j, 4096);
    }
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    return Olmo2Family::names(checkpoint, c);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
