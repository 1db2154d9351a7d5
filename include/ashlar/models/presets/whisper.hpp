// Whisper.
#pragma once

#include <ashlar/models/audio_encoder.hpp>
#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/encoder_decoder.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/fairseq_names.hpp>
#include <ashlar/nn/ffn/mlp.hpp>
#include <ashlar/nn/mixer/cross_attention.hpp>
#include <ashlar/nn/norm/layer_norm.hpp>
#include <ashlar/nn/position/learned.hpp>
#include <ashlar/nn/residual/plain.hpp>
#include <ashlar/nn/wiring/serial.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Radford et al. 2022. Keys have no bias. The encoder's sinusoids are stored as a table.
struct WhisperEncoderSpec {
  using Norm = LayerNorm;
  using Mixer = Attention<NoPosition, NoQkNorm, NoMask>;
  using Ffn = Mlp<act::Chosen>;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
  using InputPosition = LearnedPosition;
};
struct WhisperDecoderSpec : WhisperEncoderSpec {
  using Mixer = Attention<NoPosition>;
  using Cross = CrossAttention<>;
};

struct WhisperFamily {
  using Lm = EncoderDecoder<AudioEncoder<WhisperEncoderSpec>, WhisperDecoderSpec>;
  static constexpr std::string_view name = "whisper";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    expect_switch(j, "scale_embedding", false);
    const AttentionBias bias{.q = true, .k = false, .v = true, .out = true};
    const auto fill = [&](auto& layer, const std::string& stack) {
      layer.dims = read_fairseq_dims(j, stack, 384, 6, 1536);
      layer.mixer.bias = bias;
      layer.ffn.activation = read_activation(j, "activation_function", "gelu");
    };
    Lm::Source::Stack::Block::Config first;
    Lm::Block::Config second;
    fill(first, "encoder");
    fill(second, "decoder");
    second.cross.bias = bias;
    const auto layers = [&](const char* key) {
      return static_cast<std::size_t>(j.size(key, 4, 1, 10'000));
    };

    Lm::Config c;
    auto& e = c.encoder;
    c.vocabulary = j.size("vocab_size", 51865);
    c.d_model = e.d_model = e.stack.d_model = first.dims.d_model;
    e.conv1 = {.channels = j.size("num_mel_bins", 80), .outputs = c.d_model};
    e.conv2 = {.channels = c.d_model, .outputs = c.d_model, .stride = 2};
    e.position.positions = j.size("max_source_positions", 1500);
    c.context_length = c.position.positions = j.size("max_target_positions", 448);
    e.stack.layers.assign(layers("encoder_layers"), first);
    c.layers.assign(layers("decoder_layers"), second);
    c.own_embedding = true;
    c.tied_head = j.boolean("tie_word_embeddings", true);
    return c;
  }

  static NameMap names(const Checkpoint&, const Lm::Config& c) {
    NamePairs n("model.");
    n.one("decoder.embedding", "decoder.embed_tokens.weight");
    const auto convolution = [&](const std::string& name, const Conv1d::Config& conv) {
      n.one(name + "weight", name + "weight", {.shape = {conv.outputs, conv.channels, conv.width}})
          .one(name + "bias", name + "bias");
    };
    convolution("encoder.conv1.", c.encoder.conv1);
    convolution("encoder.conv2.", c.encoder.conv2);
    for (const std::string stack : {"encoder.", "decoder."}) {
      add_fairseq_layers(n, stack, "norm");
      n.one(stack + "position.table", stack + "embed_positions.weight")
          .norm(stack + "final_norm", stack + "layer_norm");
    }
    NamePairs heads;
    heads.one("head", "proj_out.weight").ignore("proj_out.weight");
    NameMap map = n.map();
    return map += heads.map();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
