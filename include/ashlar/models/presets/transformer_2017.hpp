// The transformer of 2017: torch.nn.Transformer between one shared table and sinusoids.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/encoder_decoder.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/name_pairs.hpp>
#include <ashlar/nn/ffn/mlp.hpp>
#include <ashlar/nn/mixer/cross_attention.hpp>
#include <ashlar/nn/norm/layer_norm.hpp>
#include <ashlar/nn/norm/optional.hpp>
#include <ashlar/nn/position/sinusoidal.hpp>
#include <ashlar/nn/residual/plain.hpp>
#include <ashlar/nn/wiring/serial.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Vaswani et al. 2017, whose norms stand after the sums, and none after the last layer.
/// torch.nn.Transformer adds one there.
template <class WiringKind>
struct Transformer2017EncoderSpec {
  using Norm = LayerNorm;
  using Mixer = Attention<NoPosition, NoQkNorm, NoMask>;
  using Ffn = Mlp<act::Chosen>;
  using Residual = PlainResidual;
  using Wiring = WiringKind;
  using InputPosition = SinusoidalPosition;
  using FinalNorm = OptionalNorm<LayerNorm>;
};
template <class WiringKind>
struct Transformer2017DecoderSpec : Transformer2017EncoderSpec<WiringKind> {
  using Mixer = Attention<NoPosition>;
  using Cross = CrossAttention<>;
};

/// config.json holds the constructor's arguments; norm_first says which of the two kinds a
/// checkpoint is.
template <bool NormFirst>
struct Transformer2017Kind {
  using Wiring = std::conditional_t<NormFirst, PreNorm, PostNorm>;
  using Lm = EncoderDecoder<Encoder<Transformer2017EncoderSpec<Wiring>>,
                            Transformer2017DecoderSpec<Wiring>>;
  static constexpr std::string_view name = "transformer-2017";

  static bool accepts(const Checkpoint& checkpoint) {
    return checkpoint.json().boolean("norm_first", false) == NormFirst;
  }

  static typename Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    const bool bias = j.boolean("bias", true);
    const auto fill = [&](auto& layer) {
      layer.dims = read_dims(j, {.d_model = "d_model", .n_heads = "heads", .d_ff = "ffn"});
      layer.norm.eps = static_cast<float>(j.positive("eps", 1e-5));
      layer.norm.bias = layer.ffn.bias = bias;
      layer.mixer.bias = {bias, bias, bias, bias};
      layer.ffn.activation = read_activation(j, "activation", "relu");
    };
    typename Lm::Source::Stack::Block::Config first;
    typename Lm::Block::Config second;
    fill(first);
    fill(second);
    second.cross.bias = second.mixer.bias;

    typename Lm::Config c;
    auto& e = c.encoder;
    c.vocabulary = e.vocabulary = j.size("vocab");
    c.d_model = e.d_model = e.stack.d_model = first.dims.d_model;
    c.embedding_scale = e.embedding_scale = std::sqrt(static_cast<float>(c.d_model));
    c.final_norm = e.stack.final_norm = {j.boolean("final_norm", true), first.norm};
    e.stack.layers.assign(static_cast<std::size_t>(j.size("encoder_layers", 6, 1, 10'000)), first);
    c.layers.assign(static_cast<std::size_t>(j.size("decoder_layers", 6, 1, 10'000)), second);
    return c;
  }

  static NameMap names(const Checkpoint&, const typename Lm::Config& c) {
    const index_t D = c.d_model;
    const std::string norm = NormFirst ? "_norm" : "_stream_norm";
    NamePairs n;
    n.one("encoder.embedding", "shared.weight");
    for (const std::string stack : {"encoder.", "decoder."}) {
      const std::string ours = stack + "layers.{}.", layer = "transformer." + ours;
      const bool decoder = stack == "decoder.";
      const auto attention = [&](const std::string& mixer, const std::string& stored) {
        const char* const names[] = {"q", "k", "v"};
        for (index_t i = 0; i < 3; ++i) {
          const StoredAs rows{.first_row = i * D, .total_rows = 3 * D};
          n.one(ours + mixer + "." + names[i], stored + ".in_proj_weight", rows)
              .one(ours + mixer + "." + names[i] + "_bias", stored + ".in_proj_bias", rows);
        }
        n.linear(ours + mixer + ".o", stored + ".out_proj");
      };
      attention("mixer", layer + "self_attn");
      n.norm(ours + "mixer" + norm, layer + "norm1");
      if (decoder) {
        attention("cross", layer + "multihead_attn");
        n.norm(ours + "cross" + norm, layer + "norm2");
      }
      n.linear(ours + "ffn.up", layer + "linear1")
          .linear(ours + "ffn.down", layer + "linear2")
          .norm(ours + "ffn" + norm, layer + (decoder ? "norm3" : "norm2"))
          .norm(stack + "final_norm", "transformer." + stack + "norm");
    }
    return n.map();
  }
};

struct Transformer2017Family : Transformer2017Kind<false> {};
struct Transformer2017PreNormFamily : Transformer2017Kind<true> {};

}  // namespace ashlar::inline ASHLAR_ABI
