// RoBERTa: BERT with positions that begin after the padding's, and a head of its own.
#pragma once

#include <ashlar/models/presets/bert.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Liu et al. 2019. A true token has position pad + 1 + the number of true tokens before
/// it, a padded one pad.
struct RobertaFamily {
  using Spec = BertSpec;
  using Lm = Encoder<Spec>;
  static constexpr std::string_view name = "roberta";

  static Lm::Config config(const Checkpoint& checkpoint) { return config(checkpoint, 50265); }
  static Lm::Config config(const Checkpoint& checkpoint, index_t absent_vocabulary) {
    const ConfigReader& j = checkpoint.json();
    Lm::Config c = BertFamily::sizes(j, absent_vocabulary);
    const index_t pad = j.size("pad_token_id", 1, 0, c.vocabulary - 1);
    c.position.positions = j.size("max_position_embeddings", 512, pad + 2);
    c.position.offset = pad + 1;
    c.context_length = c.position.positions - c.position.offset;
    c.uncounted = static_cast<std::int32_t>(pad);
    const TensorSource& tensors = checkpoint.tensors();
    c.heads.masked_lm.on = tensors.find("lm_head.dense.weight") != nullptr;
    c.heads.masked_lm.tied = j.boolean("tie_word_embeddings", true);
    c.heads.masked_lm.activation = ActivationKind::gelu;  // whatever hidden_act says
    c.heads.pooler.on = tensors.find(prefix(checkpoint) + "pooler.dense.weight") != nullptr;
    return c;
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    const bool own_bias =
        !c.heads.masked_lm.tied && checkpoint.tensors().find("lm_head.decoder.bias");
    NameMap map = BertFamily::encoder_names(prefix(checkpoint));
    NamePairs heads;
    heads.linear("heads.masked_lm.dense", "lm_head.dense")
        .norm("heads.masked_lm.norm", "lm_head.layer_norm")
        .one("heads.masked_lm.decoder", "lm_head.decoder.weight")
        .one("heads.masked_lm.decoder_bias", own_bias ? "lm_head.decoder.bias" : "lm_head.bias")
        .ignore("lm_head.bias")
        .ignore("lm_head.decoder.weight")
        .ignore("lm_head.decoder.bias");
    return map += heads.map();
  }

 private:
  static std::string prefix(const Checkpoint& checkpoint) {
    return checkpoint.tensors().find("embeddings.word_embeddings.weight") ? "" : "roberta.";
  }
};

/// Source: Conneau et al. 2019. Another vocabulary, the same model.
struct XlmRobertaFamily : RobertaFamily {
  static constexpr std::string_view name = "xlm-roberta";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return RobertaFamily::config(checkpoint, 30522);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
