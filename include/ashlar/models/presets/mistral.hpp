// Mistral: Llama's block with a sliding window on every layer.
#pragma once

#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/llama_layer.hpp>
#include <ashlar/nn/specs.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Llama's block with a window a layer (a default one has no end), and an activation that the
/// checkpoint names.
struct WindowedLlamaSpec : LlamaSpec {
  using Mixer = Attention<Rope, NoQkNorm, SlidingWindow>;
  using Ffn = Glu<act::Chosen>;
};

/// Source: Jiang et al. 2023. GGUF files of it call themselves "llama".
struct MistralFamily {
  using Spec = WindowedLlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "mistral";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys sizes{.absent = {4096, 32, 8, -1, 14336, 32, 131072, 32000}};
    auto layer = read_llama_layer<Lm::Block::Config>(j, sizes, 1e-6);
    layer.mixer.mask = read_window(j, 4096);
    Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    return c;
  }
  static NameMap names(const Checkpoint&, const Lm::Config&) { return hugging_face_names(); }
};

}  // namespace ashlar::inline ASHLAR_ABI
