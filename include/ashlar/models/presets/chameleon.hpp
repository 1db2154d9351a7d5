// Chameleon, for text: Llama's block with a LayerNorm of every query and key head of its own.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/models/presets/mistral.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// The 7B model.
struct ChameleonSpec : LlamaSpec {
  using Mixer = Attention<Rope, PerHeadOwnNorm<LayerNorm>>;
  using Ffn = Glu<act::Chosen>;
};
/// The 34B model: norms of the branches, "Swin".
struct ChameleonSwinSpec : ChameleonSpec {
  using Wiring = BranchNorm;
};

/// Source: Chameleon Team 2024. Both kinds have one name and the same tensors.
template <class S>
struct ChameleonKind {
  using Spec = S;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "chameleon";
  static constexpr bool swin = std::is_same_v<S, ChameleonSwinSpec>;

  static bool accepts(const Checkpoint& checkpoint) {
    return checkpoint.json().boolean("swin_norm", false) == swin;
  }
  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const SizeKeys sizes{.head_dim = "", .absent = {4096, 32, 32, -1, 11008, 32, 4096, 65536}};
    auto layer = read_llama_layer<typename Lm::Block::Config>(j, sizes, 1e-5);
    layer.mixer.qk_norm = {.eps = 1e-5f, .bias = true};  // whatever rms_norm_eps says
    layer.mixer.bias = read_attention_bias(j);
    layer.ffn.bias = j.boolean("mlp_bias", false);
    typename Lm::Config c;
    fill_model(c, j, layer, false, sizes);
    // Pieces of images are read, never written.
    j.for_each_member("vocabulary_map",
                      [&](const std::string& token, const Json& value, const std::string& key) {
                        if (!token.starts_with("IMGIMG")) return;
                        const index_t id = value.as_int(key);
                        if (id < 0 || id >= c.vocabulary)
                          fail<ValueError>(key, " is ", id, ", expected 0 to ", c.vocabulary - 1);
                        c.never_predicted.push_back(static_cast<std::int32_t>(id));
                      });
    return c;
  }
  /// The tokenizer of images is left out.
  static NameMap names(const Checkpoint&, const typename Lm::Config& c) {
    NameMap map = hugging_face_names();
    map.ignored.push_back("model.vqmodel.*");
    store_head_norms_as_matrices(map, c.layers.at(0).dims);
    if (!swin) return map;
    for (NameRule& rule : map.layer) {
      if (rule.weight == "mixer_norm.gain") rule.weight = "mixer_branch_norm.gain";
      if (rule.weight == "ffn_norm.gain") rule.weight = "ffn_branch_norm.gain";
    }
    return map;
  }
};
using ChameleonFamilies = Families<ChameleonKind<ChameleonSpec>, ChameleonKind<ChameleonSwinSpec>>;

}  // namespace ashlar::inline ASHLAR_ABI
