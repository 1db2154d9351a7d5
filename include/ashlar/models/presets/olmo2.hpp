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
  typename Lm::Block::Config layer{.dims = read_dims(j, sizes)};
  layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-5));
  layer.mixer.qk_norm = layer.norm;
  layer.mixer.position.rule = read_rope_rule(j, layer.dims.head_dim, rope);
  const bool bias = j.boolean("attention_bias", false);
  layer.mixer.bias = {bias, bias, bias, bias};
  layer.ffn.activation = read_activation(j, "hidden_act", "silu");
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
                             : detail::read_olmo2<Lm>(*checkpoint.config(), {});
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
    Lm::Block::Config layer{.dims = g.dims()};
    layer.norm.eps = static_cast<float>(g.positive("attention.layer_norm_rms_epsilon"));
    layer.mixer.qk_norm = layer.norm;
    layer.mixer.position.rule = g.rope_rule(layer.dims.head_dim);
    layer.ffn.activation = ActivationKind::silu;
    Lm::Config c;
    g.fill_model(c, layer);
    return c;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
