// ERNIE 4.5, the dense models: Llama's block in which neighbours turn together.
#pragma once

#include <ashlar/models/presets/gguf_config.hpp>
#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Baidu 2025, "ERNIE 4.5".
struct Ernie45Family {
  using Spec = WindowedLlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "ernie4_5";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys sizes{.absent = {1024, 16, 2, 128, 3072, 18, 131072, 103424}};
    auto layer = read_llama_layer<Lm::Block::Config>(j, sizes, 1e-5, {.theta = 500'000});
    layer.mixer.position.pairing = RopePairing::interleaved;
    const bool bias = j.boolean("use_bias", false);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn.bias = bias;
    Lm::Config c;
    fill_model(c, j, layer, true, sizes);
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config&) { return hugging_face_names(); }
};

}  // namespace ashlar::inline ASHLAR_ABI
