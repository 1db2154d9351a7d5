// T5: 1.0, 1.1 and Flan-T5.
#pragma once

#include <ashlar/attention/score/t5_bias.hpp>
#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/encoder_decoder.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/name_pairs.hpp>
#include <ashlar/nn/ffn/glu.hpp>
#include <ashlar/nn/ffn/mlp.hpp>
#include <ashlar/nn/mixer/cross_attention.hpp>
#include <ashlar/nn/norm/rms_norm.hpp>
#include <ashlar/nn/residual/plain.hpp>
#include <ashlar/nn/wiring/serial.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

/// T5RelativeBias with its table among the layer's weights. In checkpoints all layers of a stack
/// share the first one's.
struct T5BiasMaker {
  struct Config {
    T5Buckets buckets{};
  };
  struct Weights {
    VectorView<const float> table;  // [buckets * heads]
  };
  static void visit(Weights& w, const Config& c, const Dims& d, auto&& f) {
    f("table", w.table, {c.buckets.buckets() * d.n_heads});
  }
  static T5RelativeBias make(const Config& c, const Weights& w) {
    const index_t buckets = c.buckets.buckets();
    if (w.table.empty()) return {};
    return {c.buckets,
            MatrixView<const float>(w.table.data(), {buckets, w.table.extent(0) / buckets})};
  }
};

/// Source: Raffel et al. 2019; Shazeer 2020 for 1.1. No position but the bias, no scale of scores.
template <FfnPolicy FfnKind>
struct T5EncoderSpec {
  using Norm = RmsNorm;
  using Mixer = Attention<NoPosition, NoQkNorm, NoMask, T5BiasMaker>;
  using Ffn = FfnKind;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
  using InputPosition = NoPosition;
};
template <FfnPolicy FfnKind>
struct T5DecoderSpec : T5EncoderSpec<FfnKind> {
  using Mixer = Attention<NoPosition, NoQkNorm, CausalMask, T5BiasMaker>;
  using Cross = CrossAttention<>;
};

/// feed_forward_proj says which of the two kinds a checkpoint is.
template <bool Gated>
struct T5Kind {
  using Ffn = std::conditional_t<Gated, Glu<act::Chosen>, Mlp<act::Chosen>>;
  using Lm = EncoderDecoder<Encoder<T5EncoderSpec<Ffn>>, T5DecoderSpec<Ffn>>;
  static constexpr std::string_view name = "t5";

  static bool accepts(const Checkpoint& checkpoint) {
    return projection(checkpoint.json()).starts_with("gated-") == Gated;
  }

  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    Dims dims;
    dims.d_model = j.size("d_model", 512);
    dims.n_heads = dims.n_kv_heads = j.size("num_heads", 8);
    dims.head_dim = j.size("d_kv", 64);
    dims.d_ff = j.size("d_ff", 2048);
    const index_t buckets = j.size("relative_attention_num_buckets", 32),
                  longest = j.size("relative_attention_max_distance", 128);
    const auto fill = [&](auto& layer, bool bidirectional) {
      layer.dims = dims;
      layer.norm.eps = static_cast<float>(j.positive("layer_norm_epsilon", 1e-6));
      layer.mixer.scale = 1.f;
      layer.mixer.score.buckets = T5Buckets(buckets, longest, bidirectional);
      layer.ffn.bias = false;
      layer.ffn.activation = activation(j);
    };
    const auto layers = [&](std::string_view key, index_t fallback) {
      return static_cast<std::size_t>(j.size(key, fallback, 1, 10'000));
    };
    typename Lm::Config c;
    typename Lm::Source::Stack::Block::Config first;
    typename Lm::Block::Config second;
    fill(first, true);
    fill(second, false);
    second.cross.scale = 1.f;
    c.vocabulary = c.encoder.vocabulary = j.size("vocab_size", 32128);
    c.d_model = c.encoder.d_model = c.encoder.stack.d_model = dims.d_model;
    c.final_norm = c.encoder.stack.final_norm = first.norm;
    c.encoder.stack.layers.assign(layers("num_layers", 6), first);
    c.layers.assign(
        layers("num_decoder_layers", static_cast<index_t>(c.encoder.stack.layers.size())), second);
    // A file of a tied model may hold the head too; the scale is that of tied models only.
    c.tied_head = checkpoint.tensors().find("lm_head.weight") == nullptr;
    if (j.boolean("tie_word_embeddings", true))
      c.logit_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.d_model)));
    return c;
  }

  static NameMap names(const Checkpoint&, const typename Lm::Config& c) {
    const auto& layer = c.encoder.stack.layers.at(0);
    const index_t buckets = layer.mixer.score.buckets.buckets(), heads = layer.dims.n_heads;
    NamePairs n;
    n.one("encoder.embedding", "shared.weight")
        .one("head", "lm_head.weight")
        .ignore("embed_tokens.weight")
        .ignore("EncDecAttention.relative_attention_bias.weight");
    for (const std::string stack : {"encoder.", "decoder."}) {
      const std::string ours = stack + "layers.{}.", stored = stack + "block.{}.layer.";
      const bool decoder = stack == "decoder.";
      const auto attention = [&](const std::string& mixer, const std::string& part) {
        for (const char* m : {"q", "k", "v", "o"})
          n.one(ours + mixer + "." + m, stored + part + m + ".weight");
      };
      attention("mixer", "0.SelfAttention.");
      n.one(ours + "mixer.score.table",
            stack + "block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            {.shape = {buckets, heads}});
      n.norm(ours + "mixer_norm", stored + "0.layer_norm");
      if (decoder) {
        attention("cross", "1.EncDecAttention.");
        n.norm(ours + "cross_norm", stored + "1.layer_norm");
      }
      const std::string ffn = stored + (decoder ? "2." : "1.");
      n.norm(ours + "ffn_norm", ffn + "layer_norm")
          .one(ours + "ffn.gate", ffn + "DenseReluDense.wi_0.weight")
          .one(ours + "ffn.up",
               ffn + (Gated ? "DenseReluDense.wi_1" : "DenseReluDense.wi") + ".weight")
          .one(ours + "ffn.down", ffn + "DenseReluDense.wo.weight")
          .norm(stack + "final_norm", stack + "final_layer_norm");
    }
    return n.map();
  }

 private:
  static std::string projection(const ConfigReader& j) {
    return j.string("feed_forward_proj", "relu");
  }
  /// "gated-gelu" is the tanh form; every other name is literal.
  static ActivationKind activation(const ConfigReader& j) {
    constexpr std::string_view key = "feed_forward_proj";
    if constexpr (!Gated) return read_activation(j, key, "relu");
    const std::string got = projection(j);
    if (got == "gated-gelu") return ActivationKind::gelu_tanh;
    if (got == "gated-silu") return ActivationKind::silu;
    if (got == "gated-relu") return ActivationKind::relu;
    j.refuse(key, got, "gated-gelu, gated-silu, gated-relu");
  }
};

struct T5Family : T5Kind<false> {};
struct T5GatedFamily : T5Kind<true> {};

}  // namespace ashlar::inline ASHLAR_ABI
