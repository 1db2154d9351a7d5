// BERT, and sentence encoders that are a BERT: all-MiniLM, E5, BGE.
#pragma once

#include <ashlar/attention/mask/none.hpp>
#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/encoder.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/presets/name_pairs.hpp>
#include <ashlar/nn/ffn/mlp.hpp>
#include <ashlar/nn/head/text_heads.hpp>
#include <ashlar/nn/mixer/attention.hpp>
#include <ashlar/nn/norm/layer_norm.hpp>
#include <ashlar/nn/position/learned.hpp>
#include <ashlar/nn/residual/plain.hpp>
#include <ashlar/nn/wiring/serial.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Devlin et al. 2018.
struct BertSpec {
  using Norm = LayerNorm;
  using Mixer = Attention<NoPosition, NoQkNorm, NoMask>;
  using Ffn = Mlp<act::Chosen>;
  using Residual = PlainResidual;
  using Wiring = PostNorm;
  using InputPosition = LearnedPosition;
  using EmbeddingNorm = LayerNorm;
  using FinalNorm = NoNorm;
  using Heads = TextHeads<LayerNorm>;
};

/// Files of the bare encoder leave out the prefix "bert.". A classifier is BertForPreTraining's of
/// sentence relation, or that of a BertForSequenceClassification.
struct BertFamily {
  using Spec = BertSpec;
  using Lm = Encoder<Spec>;
  static constexpr std::string_view name = "bert";

  static Lm::Config config(const Checkpoint& checkpoint) {
    const ConfigReader& j = checkpoint.json();
    Lm::Config c = sizes(j, 30522);
    c.position.positions = c.context_length = j.size("max_position_embeddings", 512);
    const TensorSource& tensors = checkpoint.tensors();
    c.heads.masked_lm.on = tensors.find("cls.predictions.transform.dense.weight") != nullptr;
    c.heads.masked_lm.tied = j.boolean("tie_word_embeddings", true);
    c.heads.pooler.on = tensors.find(prefix(checkpoint) + "pooler.dense.weight") != nullptr;
    if (const TensorInfo* t = tensors.find(classifier(checkpoint) + ".weight"))
      c.heads.classifier.rows = t->shape.empty() ? 0 : t->shape[0];
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    NameMap map = encoder_names(prefix(checkpoint));
    NamePairs heads;
    heads.linear("heads.masked_lm.dense", "cls.predictions.transform.dense")
        .norm("heads.masked_lm.norm", "cls.predictions.transform.LayerNorm")
        .one("heads.masked_lm.decoder", "cls.predictions.decoder.weight")
        .one("heads.masked_lm.decoder_bias", "cls.predictions.bias")
        .head("heads.classifier", classifier(checkpoint))
        .ignore("cls.predictions.decoder.weight")
        .ignore("cls.predictions.decoder.bias");
    map += heads.map();
    if (checkpoint.tensors().find(prefix(checkpoint) + "embeddings.LayerNorm.gamma"))
      use_older_names(map);
    return map;
  }

  /// What RoBERTa's config says in the same words.
  static Lm::Config sizes(const ConfigReader& j, index_t vocabulary) {
    if (const auto type = j.string("position_embedding_type", "absolute"); type != "absolute")
      j.refuse("position_embedding_type", type, "absolute");
    expect_switch(j, "is_decoder", false);
    expect_switch(j, "add_cross_attention", false);
    DecoderBlock<Spec>::Config layer;
    const SizeKeys keys{.n_kv_heads = "", .head_dim = "", .absent = {768, 12, -1, -1, 3072, 12}};
    layer.dims = read_dims(j, keys);
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_eps", 1e-12));
    layer.mixer.bias = {true, true, true, true};
    layer.ffn.activation = read_activation(j, "hidden_act", "gelu");

    Lm::Config c;
    c.vocabulary = j.size("vocab_size", vocabulary);
    c.d_model = c.stack.d_model = layer.dims.d_model;
    c.token_types = j.size("type_vocab_size", 2);
    c.embedding_norm = c.heads.masked_lm.norm = layer.norm;
    c.heads.masked_lm.activation = layer.ffn.activation;
    c.stack.layers.assign(
        static_cast<std::size_t>(j.size("num_hidden_layers", keys.absent.layers, 1, 10'000)),
        layer);
    return c;
  }
  static NameMap encoder_names(const std::string& prefix) {
    const std::string layer = "encoder.layer.{}.";
    NamePairs n(prefix);
    n.one("embedding", "embeddings.word_embeddings.weight")
        .one("token_types", "embeddings.token_type_embeddings.weight")
        .one("position.table", "embeddings.position_embeddings.weight")
        .norm("embedding_norm", "embeddings.LayerNorm")
        .linear("layers.{}.mixer.q", layer + "attention.self.query")
        .linear("layers.{}.mixer.k", layer + "attention.self.key")
        .linear("layers.{}.mixer.v", layer + "attention.self.value")
        .linear("layers.{}.mixer.o", layer + "attention.output.dense")
        .norm("layers.{}.mixer_stream_norm", layer + "attention.output.LayerNorm")
        .linear("layers.{}.ffn.up", layer + "intermediate.dense")
        .linear("layers.{}.ffn.down", layer + "output.dense")
        .norm("layers.{}.ffn_stream_norm", layer + "output.LayerNorm")
        .head("heads.pooler", "pooler.dense")
        .ignore("embeddings.position_ids");
    return n.map();
  }

 private:
  /// The first checkpoints call a norm's weights gamma and beta.
  static void use_older_names(NameMap& map) {
    for (NameRule& rule : map.model)
      for (const auto& [ending, older] : {std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                          std::pair{"LayerNorm.bias", "LayerNorm.beta"}})
        if (rule.stored.ends_with(ending))
          rule.stored.replace(rule.stored.size() - std::string_view(ending).size(),
                              std::string::npos, older);
  }
  static std::string prefix(const Checkpoint& checkpoint) {
    return checkpoint.tensors().find("embeddings.word_embeddings.weight") ? "" : "bert.";
  }
  static std::string classifier(const Checkpoint& checkpoint) {
    return checkpoint.tensors().find("classifier.weight") ? "classifier" : "cls.seq_relationship";
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
