// Gemma 4, the dense text models: wider heads on full layers, keys that are values, keys shared by
// layers, per-layer embeddings.
#pragma once

#include <ashlar/models/presets/gemma.hpp>
#include <ashlar/nn/per_layer_embeddings.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct Gemma4Spec : LlamaSpec {
  using Norm = RmsNormRoundedOnce;
  using Mixer = Attention<Rope, PerHeadNorm<RmsNormRoundedOnce>, SlidingWindow, NoScore,
                          KvCache<float>, WeightlessRmsNorm>;
  using Ffn = Glu<act::Chosen>;
  using Wiring = SandwichNorm;
  using Epilogue = PerLayerInput;
  using SideInput = PerLayerEmbeddings;
};

namespace detail {
/// Reads the config.json of a Gemma 4 whose layers are Block::Config.
template <class Lm>
class Gemma4Reader {
  using Layer = typename Lm::Block::Config;

 public:
  explicit Gemma4Reader(const ConfigReader& j) : j_(j) {}

  typename Lm::Config read() const {
    if (j_.string("use_bidirectional_attention", "") == "all")
      j_.refuse("use_bidirectional_attention", "all", "null, vision");
    const SizeKeys sizes{.absent = {2304, 8, 4, 256, 9216, 30, 131072, 262144}};
    Layer layer{.dims = read_dims(j_, sizes)};
    layer.norm.eps = static_cast<float>(j_.positive("rms_norm_eps", 1e-6));
    layer.mixer.scale = 1.f;
    layer.mixer.qk_norm.eps = layer.mixer.value_norm.eps = layer.norm.eps;
    const bool bias = j_.boolean("attention_bias", false);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.mixer.position.rule.width = 0;
    layer.ffn.activation = read_activation(j_, "hidden_activation", "gelu_pytorch_tanh");
    layer.epilogue = {.width = per_layer_width(), .activation = layer.ffn.activation};
    layer.epilogue.norm.eps = layer.norm.eps;

    typename Lm::Config c;
    fill_model(c, j_, layer, true, sizes);
    scale_gemma_embeddings(c);
    c.logit_cap = read_cap(j_, "final_logit_softcapping", 0);
    c.side_input = {.layers = static_cast<index_t>(c.layers.size()),
                    .width = layer.epilogue.width,
                    .norm = {layer.norm.eps}};
    if (layer.epilogue.width > 0)
      c.side_input.vocabulary = j_.size("vocab_size_per_layer_input", 262144);
    set_layers(c);
    return c;
  }

 private:
  index_t per_layer_width() const {
    return j_.is_null("hidden_size_per_layer_input")
               ? 0
               : j_.size("hidden_size_per_layer_input", 256, 0);
  }
  void set_layers(typename Lm::Config& c) const {
    const std::size_t n = c.layers.size();
    auto sliding = read_sliding_layers(j_, n, [](index_t i) { return (i + 1) % 6 != 0; });
    sliding.back() = false;  // whatever layer_types says
    const SlidingWindow window = read_window(j_, 512);
    const bool value_is_key = j_.boolean("attention_k_eq_v", false);
    for (std::size_t i = 0; i < n; ++i) {
      Layer& layer = c.layers[i];
      set_heads(layer.dims, i, sliding[i], value_is_key);
      layer.mixer.position.rule = rope_rule(layer.dims.head_dim, sliding[i]);
      if (layer.mixer.position.rule.depends_on_length()) c.context_length = 0;
      if (sliding[i]) layer.mixer.mask = window;
      layer.mixer.value_is_key = value_is_key && !sliding[i];
    }
    share_keys(c, sliding);
  }
  /// The key of layer i in per_layer_config: files of ten layers and more say "05".
  std::string key_of_layer(std::size_t i) const {
    const std::string number = std::to_string(i);
    std::string key = number;
    j_.for_each_member("per_layer_config",
                       [&](const std::string& name, const Json&, const std::string&) {
                         if (name.size() > number.size() && name.ends_with(number) &&
                             name.find_first_not_of('0') >= name.size() - number.size())
                           key = name;
                       });
    return key;
  }
  /// Full layers have heads of their own: per_layer_config, in older files global_head_dim and
  /// num_global_key_value_heads.
  void set_heads(Dims& d, std::size_t i, bool sliding, bool value_is_key) const {
    if (const auto layers = j_.object("per_layer_config")) {
      const std::string index = key_of_layer(i);
      layers->for_each_member(index, [&](const std::string& key, const Json&, const std::string&) {
        if (key != "head_dim" && key != "num_key_value_heads")
          fail<ValueError>(layers->what(index), " has the key ", detail::quote(key),
                           ", supported: head_dim, num_key_value_heads");
      });
      if (const auto own = layers->object(index)) {
        d.head_dim = own->size("head_dim", d.head_dim);
        d.n_kv_heads = own->size("num_key_value_heads", d.n_kv_heads);
      }
    } else if (!sliding) {
      d.head_dim = j_.size("global_head_dim", 512);
      if (value_is_key) d.n_kv_heads = j_.size("num_global_key_value_heads", d.n_kv_heads);
    }
    if (d.n_heads % d.n_kv_heads != 0)
      fail<ValueError>(j_.path(), ": layer ", i, " has ", d.n_kv_heads,
                       " key and value heads, expected a divisor of num_attention_heads ",
                       d.n_heads);
  }
  RopeRule rope_rule(index_t head_dim, bool sliding) const {
    if (j_.has("rope_parameters"))
      return read_rope_rule(j_, head_dim,
                            {.layer_type = sliding ? "sliding_attention" : "full_attention"});
    if (sliding) return {.theta = 1e4, .width = head_dim};
    return {1e6, head_dim, rope_scaling::Proportional{head_dim / 8}};  // a quarter turns
  }
  /// The last layers use the keys and values of the last layer of their type before them.
  void share_keys(typename Lm::Config& c, const std::vector<bool>& sliding) const {
    const index_t n = static_cast<index_t>(c.layers.size());
    const index_t shared = j_.size("num_kv_shared_layers", 0, 0, n);
    if (shared == 0) return;
    const bool double_wide = j_.boolean("use_double_wide_mlp", false);
    index_t last[2] = {-1, -1};
    for (index_t i = 0; i < n; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      index_t& owner = last[sliding[at] ? 1 : 0];
      if (i < n - shared) owner = i;
      c.state_of.push_back(owner);
      if (i < n - shared) continue;
      const auto fits = [&](const Dims& own, const Dims& other) {
        return own.head_dim == other.head_dim && own.n_kv_heads == other.n_kv_heads;
      };
      Layer& layer = c.layers[at];
      if (owner < 0 || !fits(layer.dims, c.layers[static_cast<std::size_t>(owner)].dims))
        fail<ValueError>(j_.what("num_kv_shared_layers"), " is ", shared, ", but layer ", i,
                         " has no layer of its type and heads before the shared ones");
      layer.mixer.shared = true;
      if (double_wide) layer.dims.d_ff *= 2;
    }
  }

  const ConfigReader& j_;
};

/// The names of Gemma 4's dense parts.
template <class Config>
NameMap gemma4_names(const Config& c) {
  NameMap map = hugging_face_names();
  add_branch_norms(map);
  const std::string layer = "model.layers.{}.";
  map += {.model = {{"side_input.table", "model.embed_tokens_per_layer.weight"},
                    {"side_input.projection", "model.per_layer_model_projection.weight"},
                    {"side_input.norm.gain", "model.per_layer_projection_norm.weight"}},
          .layer = {{"epilogue.gate", layer + "per_layer_input_gate.weight"},
                    {"epilogue.projection", layer + "per_layer_projection.weight"},
                    {"epilogue.norm.gain", layer + "post_per_layer_input_norm.weight"},
                    {"epilogue.scalar", layer + "layer_scalar"}}};
  // Published files keep what sharing layers do not use.
  for (std::size_t i = 0; i < c.layers.size(); ++i)
    if (c.layers[i].mixer.shared)
      for (const char* part : {"k_proj", "v_proj", "k_norm", "v_norm"})
        map.ignored.push_back("model.layers." + std::to_string(i) + ".self_attn." + part + ".*");
  return map;
}
}  // namespace detail

/// Source: Google DeepMind 2026, "Gemma 4".
struct Gemma4Family {
  using Spec = Gemma4Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "gemma4_text";

  static Lm::Config config(const Checkpoint& checkpoint) {
    expect_switch(checkpoint.json(), "enable_moe_block", false);
    return detail::Gemma4Reader<Lm>(checkpoint.json()).read();
  }
  static NameMap names(const Checkpoint&, const Lm::Config& c) { return detail::gemma4_names(c); }
};

}  // namespace ashlar::inline ASHLAR_ABI
