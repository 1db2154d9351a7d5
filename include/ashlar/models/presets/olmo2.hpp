// OLMo 2 and 3: norms of the branches only, and of all queries or keys of a token together.
#pragma once

#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Olmo2Spec : WindowedLlamaSpec {
  using Mixer = Attention<Rope, FullWidthNorm<RmsNorm>, SlidingWindow>;
  using Wiring = BranchNorm;
};

namespace detail {
/// What OLMo 2 and 3 have in common.
template <class Lm>
typename Lm::Config read_olmo2(const ConfigReader& j, const RopeKeys& rope) {
  const SizeKeys sizes{.absent = {4096, 32, -1, -1, 11008, 32, 2048, 50304}};
  auto layer = read_llama_layer<typename Lm::Block::Config>(j, sizes, 1e-5, rope);
  layer.mixer.qk_norm = layer.norm;
  layer.mixer.bias = read_attention_bias(j);
  typename Lm::Config c;
  fill_model(c, j, layer, false, sizes);
  return c;
}
}  // namespace detail

/// Source: OLMo Team 2024, "2 OLMo 2 Furious".
struct Olmo2Family {
  using Spec = Olmo2Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "olmo2";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? from_gguf(GgufReader(*checkpoint.gguf()))
                             : detail::read_olmo2<Lm>(*checkpoint.config(), {.positions = 2048});
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    if (checkpoint.gguf()) return gguf_names();
    NameMap map = hugging_face_names();
    add_branch_norms(map);
    return map;
  }

 private:
  static Lm::Config from_gguf(const GgufReader& g) {
    if (g.has("attention.sliding_window"))  // OLMo 3 under the same name
      fail<ValueError>(g.file().path(), ": has the key ", g.name("attention.sliding_window"),
                       ", supported: OLMo 2 without windows");
    auto layer = read_llama_layer<Lm::Block::Config>(g, RopePairing::half_split);
    layer.mixer.qk_norm = layer.norm;
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
