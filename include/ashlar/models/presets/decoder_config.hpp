// What the config.json of most decoders says in the same words: sizes, activation, layer types.
#pragma once

#include <ashlar/attention/mask/sliding_window.hpp>
#include <ashlar/models/config_reader.hpp>
#include <ashlar/nn/dims.hpp>
#include <ashlar/ops/activation.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// What sizes that are not in config.json mean, which may leave out a family's defaults. -1: an
/// error, or what follows from the others (n_kv_heads, head_dim), as null does.
struct SizeDefaults {
  index_t d_model = -1, n_heads = -1, n_kv_heads = -1, head_dim = -1, d_ff = -1, layers = -1,
          positions = 2048, vocabulary = -1;
};

/// The keys of a family's sizes, where they are not the usual ones; "" for a size that follows from
/// the others, whatever a key says.
struct SizeKeys {
  std::string_view d_model = "hidden_size", n_heads = "num_attention_heads",
                   n_kv_heads = "num_key_value_heads", head_dim = "head_dim",
                   d_ff = "intermediate_size", layers = "num_hidden_layers",
                   positions = "max_position_embeddings";
  SizeDefaults absent{};
};

/// Throws FileError for a size that is missing, ValueError for one that is not possible.
inline Dims read_dims(const ConfigReader& j, const SizeKeys& keys = {}, index_t d_ff = -1) {
  const SizeDefaults& absent = keys.absent;
  constexpr index_t most = 1 << 16;  // heads, and elements of one, of no model
  const auto following = [&](std::string_view key, index_t usual, index_t follows) {
    return j.size(key, usual < 0 || j.is_null(key) ? follows : usual, 1, most);
  };
  Dims d;
  d.d_model = j.size(keys.d_model, absent.d_model);
  d.n_heads = j.size(keys.n_heads, absent.n_heads, 1, most);
  d.n_kv_heads = following(keys.n_kv_heads, absent.n_kv_heads, d.n_heads);
  const bool head_follows = absent.head_dim < 0 || j.is_null(keys.head_dim);
  if (!j.has(keys.head_dim) && head_follows && d.d_model % d.n_heads != 0)
    fail<ValueError>(j.what(keys.d_model), " is ", d.d_model, ", expected a multiple of ",
                     keys.n_heads, " ", d.n_heads);
  d.head_dim = following(keys.head_dim, absent.head_dim, d.d_model / d.n_heads);
  if (d.head_dim > most)
    fail<ValueError>(j.what(keys.d_model), " is ", d.d_model, ": heads of ", d.head_dim,
                     " elements, expected at most ", most);
  d.d_ff = j.size(keys.d_ff, d_ff < 0 ? absent.d_ff : d_ff);
  if (d.n_heads % d.n_kv_heads != 0)
    fail<ValueError>(j.what(keys.n_kv_heads), " is ", d.n_kv_heads, ", expected a divisor of ",
                     keys.n_heads, " ", d.n_heads);
  return d;
}

/// The names that Hugging Face gives to activations. Throws ValueError for any other.
inline ActivationKind read_activation(const ConfigReader& j, std::string_view key,
                                      std::string_view fallback) {
  struct Name {
    std::string_view name;
    ActivationKind kind;
  };
  constexpr Name names[] = {{"silu", ActivationKind::silu},
                            {"swish", ActivationKind::silu},
                            {"gelu", ActivationKind::gelu},
                            {"gelu_python", ActivationKind::gelu},
                            {"gelu_new", ActivationKind::gelu_tanh},
                            {"gelu_fast", ActivationKind::gelu_tanh},
                            {"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
                            {"quick_gelu", ActivationKind::gelu_quick},
                            {"relu", ActivationKind::relu},
                            {"relu2", ActivationKind::relu_squared},
                            {"sigmoid", ActivationKind::sigmoid},
                            {"linear", ActivationKind::identity}};
  const std::string got = j.string(key, fallback);
  std::string known;
  for (const Name& n : names) {
    if (n.name == got) return n.kind;
    known += (known.empty() ? "" : ", ") + std::string(n.name);
  }
  j.refuse(key, got, known);
}

/// Fails unless a switch that changes the arithmetic, and that is not supported, is off (or on).
inline void expect_switch(const ConfigReader& j, std::string_view key, bool supported) {
  if (j.boolean(key, supported) != supported)
    j.refuse(key, supported ? "false" : "true", supported ? "true" : "false");
}

/// Fills what all models have, with `layer` for every layer. Numbers of heads that are the same in
/// all layers come from its dims.
template <class Config, class Layer>
void fill_model(Config& c, const ConfigReader& j, const Layer& layer, bool tied,
                const SizeKeys& keys = {}) {
  expect_switch(j, "is_causal", true);
  c.vocabulary = j.size("vocab_size", keys.absent.vocabulary);
  c.d_model = layer.dims.d_model;
  c.context_length = j.size(keys.positions, keys.absent.positions);
  c.tied_head = j.boolean("tie_word_embeddings", tied);
  if constexpr (std::is_same_v<decltype(c.final_norm), std::remove_const_t<decltype(layer.norm)>>)
    c.final_norm = layer.norm;
  c.layers.assign(static_cast<std::size_t>(j.size(keys.layers, keys.absent.layers, 1, 10'000)),
                  layer);
  if constexpr (requires { layer.mixer.position.rule; })  // stretched by the length of the call
    if (layer.mixer.position.rule.depends_on_length()) c.context_length = 0;
}

/// layer_types: true where a layer slides; without the key slides(i) says so. Throws ValueError for
/// a type that is neither full_attention nor sliding_attention, or a number that is not `layers`.
template <class F>
std::vector<bool> read_sliding_layers(const ConfigReader& j, std::size_t layers, const F& slides) {
  std::vector<bool> sliding(layers);
  const std::vector<std::string> types = j.strings("layer_types");
  if (!types.empty() && types.size() != layers)
    fail<ValueError>(j.what("layer_types"), " has ", types.size(), " entries, expected ", layers);
  for (std::size_t i = 0; i < layers; ++i) {
    if (types.empty())
      sliding[i] = slides(static_cast<index_t>(i));
    else if (types[i] == "sliding_attention")
      sliding[i] = true;
    else if (types[i] != "full_attention")
      j.refuse("layer_types", types[i], "full_attention, sliding_attention");
  }
  return sliding;
}

/// Whether layer i slides where every pattern-th one looks at everything. The pattern's key is of
/// the older form; newer files have layer_types.
inline auto slides_but_every(const ConfigReader& j, index_t pattern) {
  return
      [&j, pattern](index_t i) { return (i + 1) % j.size("sliding_window_pattern", pattern) != 0; };
}

/// The same for n layers of a file that does not say it.
inline std::vector<bool> all_slide_but_every(std::size_t n, std::size_t pattern) {
  std::vector<bool> sliding(n);
  for (std::size_t i = 0; i < n; ++i) sliding[i] = (i + 1) % pattern != 0;
  return sliding;
}

/// Layers that slide have a window, the others no positions. Source: Yang et al. 2025, "Rope to
/// Nope and Back Again".
template <class Config>
void slide_or_drop_positions(Config& c, const std::vector<bool>& sliding, SlidingWindow window) {
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    auto& mixer = c.layers[i].mixer;
    if (sliding[i])
      mixer.mask = window;
    else
      mixer.position.rule = {.width = 0};
  }
}

/// sliding_window = w keeps w keys, a query's own included; null means that there is no end.
inline SlidingWindow read_window(const ConfigReader& j, index_t fallback = 0) {
  if (!j.has("sliding_window") && (fallback == 0 || j.is_null("sliding_window")))
    return SlidingWindow();
  return SlidingWindow(j.size("sliding_window", fallback ? fallback : 1));
}

}  // namespace ashlar::inline ASHLAR_ABI
