// BART.
#pragma once

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

/// Source: Lewis et al. 2019. Norms after the sums and none after the last layer.
struct BartEncoderSpec {
  using Norm = LayerNorm;
  using Mixer = Attention<NoPosition, NoQkNorm, NoMask>;
  using Ffn = Mlp<act::Chosen>;
  using Residual = PlainResidual;
  using Wiring = PostNorm;
  using InputPosition = LearnedPosition;
  using EmbeddingNorm = LayerNorm;
  using FinalNorm = NoNorm;
};
struct BartDecoderSpec : BartEncoderSpec {
  using Mixer = Attention<NoPosition>;
  using Cross = CrossAttention<>;
};

struct BartFamily {
  using Lm = EncoderDecoder<Encoder<BartEncoderSpec>, BartDecoderSpec>;
  static constexpr std::string_view name = "bart";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    for (const char* key : {"normalize_before", "add_final_layer_norm", "normalize_embedding"})
      if (j.has(key)) expect_switch(j, key, std::string_view(key) == "normalize_embedding");
    const auto fill = [&](auto& layer, const std::string& stack) {
      layer.dims = read_fairseq_dims(j, stack, 1024, 16, 4096);
      layer.mixer.bias = {true, true, true, true};
      layer.ffn.activation = read_activation(j, "activation_function", "gelu");
    };
    Lm::Source::Stack::Block::Config first;
    Lm::Block::Config second;
    fill(first, "encoder");
    fill(second, "decoder");
    second.cross.bias = {true, true, true, true};
    const auto layers = [&](const char* key) {
      return static_cast<std::size_t>(j.size(key, 12, 1, 10'000));
    };

    Lm::Config c;
    auto& e = c.encoder;
    c.vocabulary = e.vocabulary = j.size("vocab_size", 50265);
    c.d_model = e.d_model = e.stack.d_model = first.dims.d_model;
    c.context_length = e.context_length = j.size("max_position_embeddings", 1024);
    c.position.offset = e.position.offset = 2;  // two rows that no position uses
    c.position.positions = e.position.positions = c.context_length + 2;
    if (j.boolean("scale_embedding", false))
      c.embedding_scale = e.embedding_scale = std::sqrt(static_cast<float>(c.d_model));
    e.stack.layers.assign(layers("encoder_layers"), first);
    c.layers.assign(layers("decoder_layers"), second);
    expect_switch(j, "tie_word_embeddings", true);  // else each stack has a table of its own
    c.tied_head = true;
    c.head_bias = checkpoint.tensors().find("final_logits_bias") != nullptr;
    return c;
  }

  /// Files of the bare model leave out the prefix "model.".
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    NamePairs n(checkpoint.tensors().find("shared.weight") ? "" : "model.");
    n.one("encoder.embedding", "shared.weight");
    for (const std::string stack : {"encoder.", "decoder."}) {
      add_fairseq_layers(n, stack, "stream_norm");
      n.one(stack + "position.table", stack + "embed_positions.weight")
          .norm(stack + "embedding_norm", stack + "layernorm_embedding");
    }
    NamePairs heads;
    heads.one("head_bias", "final_logits_bias", {.shape = {c.vocabulary}})
        .ignore("embed_tokens.weight")
        .ignore("lm_head.weight");
    NameMap map = n.map();
    return map += heads.map();
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
