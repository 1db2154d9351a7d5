// ModernBERT: rotary positions, local and global layers, GeGLU, norms before the sublayers.
#pragma once

#include <ashlar/attention/mask/local_window.hpp>
#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/encoder.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/name_pairs.hpp>
#include <ashlar/models/presets/rope_config.hpp>
#include <ashlar/nn/ffn/glu.hpp>
#include <ashlar/nn/head/text_heads.hpp>
#include <ashlar/nn/mixer/attention.hpp>
#include <ashlar/nn/norm/layer_norm.hpp>
#include <ashlar/nn/position/rope.hpp>
#include <ashlar/nn/residual/plain.hpp>
#include <ashlar/nn/wiring/serial.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// A LayerNorm whose config also says whether the mixer has one: the first layer's input comes from
/// the embeddings' norm and is not normed again.
struct ModernBertNorm : LayerNorm {
  struct Config : LayerNorm::Config {
    bool before_mixer = true;
  };
};
/// The one before the mixer.
struct ModernBertMixerNorm : ModernBertNorm {
  static void visit(Weights& w, const Config& c, index_t width, auto&& f) {
    if (c.before_mixer) LayerNorm::visit(w, c, width, f);
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
    if (c.before_mixer)
      LayerNorm::apply(ctx, c, w, x, y);
    else
      NoNorm::apply(ctx, {}, {}, x, y);
  }
};
/// PreNorm with that norm before the mixer.
struct ModernBertWiring {
  template <class Spec>
  class Block {
    template <class Norm>
    using Step = Sublayer<Norm, NoNorm, NoNorm, typename Spec::Residual>;
    using MixerStep = Step<ModernBertMixerNorm>;
    using FfnStep = Step<typename Spec::Norm>;

   public:
    struct Weights {
      typename MixerStep::Weights mixer;
      typename FfnStep::Weights ffn;
    };
    static void visit(Weights& w, const auto& c, auto&& f) {
      MixerStep::visit(w.mixer, c, c.dims.d_model, prefixed("mixer_", f));
      FfnStep::visit(w.ffn, c, c.dims.d_model, prefixed("ffn_", f));
    }
    template <Backend B, Element T, class Mixer, class Ffn>
    static void apply(Context<B>& ctx, const auto& c, const Weights& w, MatrixView<T> x,
                      Mixer&& mixer, Ffn&& ffn) {
      MixerStep::apply(ctx, c, w.mixer, x, mixer);
      FfnStep::apply(ctx, c, w.ffn, x, ffn);
    }
  };
};

/// Source: Warner et al. 2024.
struct ModernBertSpec {
  using Norm = ModernBertNorm;
  using Mixer = Attention<Rope, NoQkNorm, LocalWindow>;
  using Ffn = Glu<act::Chosen>;
  using Residual = PlainResidual;
  using Wiring = ModernBertWiring;
  using InputPosition = NoPosition;
  using EmbeddingNorm = LayerNorm;
  using FinalNorm = LayerNorm;
  using Heads = TextHeads<LayerNorm>;
};

struct ModernBertFamily {
  using Spec = ModernBertSpec;
  using Lm = Encoder<Spec>;
  static constexpr std::string_view name = "modernbert";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    DecoderBlock<Spec>::Config layer;
    const SizeKeys sizes{
        .n_kv_heads = "", .head_dim = "", .absent = {768, 12, -1, -1, 1152, 22, 8192, 50368}};
    layer.dims = read_dims(j, sizes);
    layer.norm.eps = static_cast<float>(j.positive("norm_eps", 1e-5));
    layer.norm.bias = j.boolean("norm_bias", false);
    const bool bias = j.boolean("attention_bias", false);
    layer.mixer.bias = {bias, bias, bias, bias};
    layer.ffn.bias = j.boolean("mlp_bias", false);
    layer.ffn.activation = read_activation(j, "hidden_activation", "gelu");

    Lm::Config c;
    c.vocabulary = j.size("vocab_size", sizes.absent.vocabulary);
    c.d_model = c.stack.d_model = layer.dims.d_model;
    c.context_length = j.size("max_position_embeddings", sizes.absent.positions);
    c.embedding_norm = c.stack.final_norm = c.heads.masked_lm.norm = layer.norm;
    auto& layers = c.stack.layers;
    layers.assign(
        static_cast<std::size_t>(j.size("num_hidden_layers", sizes.absent.layers, 1, 10'000)),
        layer);
    layers[0].norm.before_mixer = false;

    const RopeRule global = read_rope_rule(
        j, layer.dims.head_dim,
        {.theta = 160000.0, .layer_type = "full_attention", .theta_key = "global_rope_theta"});
    const RopeRule local = read_rope_rule(
        j, layer.dims.head_dim,
        {.theta = 10000.0, .layer_type = "sliding_attention", .theta_key = "local_rope_theta"});
    const LocalWindow window(j.size("local_attention", 128) / 2);  // both sides are counted
    const index_t every = j.size("global_attn_every_n_layers", 3);
    const std::vector<bool> slides =
        read_sliding_layers(j, layers.size(), [&](index_t i) { return i % every != 0; });
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layers[i].mixer.position.rule = slides[i] ? local : global;
      if (slides[i]) layers[i].mixer.mask = window;
    }
    auto& head = c.heads.masked_lm;
    head.on = checkpoint.tensors().find("head.dense.weight") != nullptr;
    head.dense_bias = j.boolean("classifier_bias", false);
    head.decoder_bias = j.boolean("decoder_bias", true);
    head.tied = j.boolean("tie_word_embeddings", true);
    head.activation = read_activation(j, "classifier_activation", "gelu");
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    const index_t D = c.d_model, F = c.stack.layers[0].dims.d_ff;
    const bool bare = checkpoint.tensors().find("embeddings.tok_embeddings.weight") != nullptr;
    NamePairs n(bare ? "" : "model.");
    const std::string layer = "layers.{}.";
    n.one("embedding", "embeddings.tok_embeddings.weight")
        .norm("embedding_norm", "embeddings.norm")
        .norm("layers.{}.mixer_norm", layer + "attn_norm")
        .linear("layers.{}.mixer.q", layer + "attn.Wqkv", {.total_rows = 3 * D})
        .linear("layers.{}.mixer.k", layer + "attn.Wqkv", {.first_row = D, .total_rows = 3 * D})
        .linear("layers.{}.mixer.v", layer + "attn.Wqkv", {.first_row = 2 * D, .total_rows = 3 * D})
        .linear("layers.{}.mixer.o", layer + "attn.Wo")
        .norm("layers.{}.ffn_norm", layer + "mlp_norm")
        .linear("layers.{}.ffn.gate", layer + "mlp.Wi", {.total_rows = 2 * F})
        .linear("layers.{}.ffn.up", layer + "mlp.Wi", {.first_row = F, .total_rows = 2 * F})
        .linear("layers.{}.ffn.down", layer + "mlp.Wo")
        .norm("final_norm", "final_norm");
    NamePairs heads;
    heads.linear("heads.masked_lm.dense", "head.dense")
        .norm("heads.masked_lm.norm", "head.norm")
        .linear("heads.masked_lm.decoder", "decoder")
        .ignore("decoder.weight");
    NameMap map = n.map();
    return map += heads.map();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
