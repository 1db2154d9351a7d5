// Encoders' configurations: what is not supported is refused by key and value.
#include <gtest/gtest.h>

#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/bart.hpp>
#include <ashlar/models/presets/cait.hpp>
#include <ashlar/models/presets/clip.hpp>
#include <ashlar/models/presets/dinov2.hpp>
#include <ashlar/models/presets/modernbert.hpp>
#include <ashlar/models/presets/roberta.hpp>
#include <ashlar/models/presets/t5.hpp>
#include <ashlar/models/presets/transformer_2017.hpp>
#include <ashlar/models/presets/vit_22b.hpp>
#include <ashlar/models/presets/whisper.hpp>
#include <functional>

#include "model_files.hpp"
#include "support/message.hpp"

namespace {

using namespace ashlar;
using models_test::Model;
using models_test::TemporaryFolder;

/// A golden model's configuration with one key changed, and what the message must hold.
struct Refusal {
  std::string model, key, value, expected;
  std::function<void(const Checkpoint&)> read;
};
template <class Family>
auto reads() {
  return [](const Checkpoint& checkpoint) { Family::config(checkpoint); };
}

TEST(EncoderConfig, RefusesWhatIsNotSupported) {
  const Refusal cases[] = {
      {"bert", "hidden_act", "\"mish\"",
       "hidden_act is \"mish\", supported: ", reads<BertFamily>()},
      {"bert", "position_embedding_type", "\"relative_key\"",
       "position_embedding_type is \"relative_key\", supported: absolute", reads<BertFamily>()},
      {"bert", "is_decoder", "true", "is_decoder is \"true\", supported: false",
       reads<BertFamily>()},
      {"bert", "num_attention_heads", "5", "hidden_size is 32, expected a multiple of",
       reads<BertFamily>()},
      {"roberta", "max_position_embeddings", "2", "max_position_embeddings is 2, expected 3 to",
       reads<RobertaFamily>()},
      {"roberta", "add_cross_attention", "true", "add_cross_attention is \"true\"",
       reads<RobertaFamily>()},
      {"modernbert", "hidden_activation", "\"celu\"", "hidden_activation is \"celu\"",
       reads<ModernBertFamily>()},
      {"modernbert", "layer_types", "[\"full_attention\"]", "layer_types has 1 entries, expected 5",
       reads<ModernBertFamily>()},
      {"transformer_2017_pre_norm", "activation", "\"tanh\"", "activation is \"tanh\"",
       reads<Transformer2017PreNormFamily>()},
      {"transformer_2017_post_norm", "heads", "3", "d_model is 32, expected a multiple of heads 3",
       reads<Transformer2017Family>()},
      {"t5_v1_0", "feed_forward_proj", "\"tanh\"", "feed_forward_proj is \"tanh\"",
       reads<T5Family>()},
      {"t5_v1_1", "feed_forward_proj", "\"gated-tanh\"", "feed_forward_proj is \"gated-tanh\"",
       reads<T5GatedFamily>()},
      {"t5_v1_1", "relative_attention_num_buckets", "3", "buckets is 3", reads<T5GatedFamily>()},
      {"bart", "activation_function", "\"tanh\"", "activation_function is \"tanh\"",
       reads<BartFamily>()},
      {"bart", "normalize_before", "true", "normalize_before is \"true\", supported: false",
       reads<BartFamily>()},
      {"bart", "decoder_attention_heads", "5", "expected a multiple of decoder_attention_heads 5",
       reads<BartFamily>()},
      {"whisper", "scale_embedding", "true", "scale_embedding is \"true\"", reads<WhisperFamily>()},
      {"vit", "hidden_act", "\"tanh\"", "hidden_act is \"tanh\"", reads<VitFamily>()},
      {"vit", "pooler_act", "\"relu\"", "pooler_act is \"relu\", supported: tanh",
       reads<VitFamily>()},
      {"vit", "image_size", "18", "image_size is 18, expected a multiple of patch_size 4",
       reads<VitFamily>()},
      {"vit", "image_size", "65540", "image_size is 65540, expected 1 to 65536",
       reads<VitFamily>()},
      {"vit", "num_channels", "1099511627776", "num_channels is 1099511627776, expected 1 to 65536",
       reads<VitFamily>()},
      {"vit_22b_like", "img_size", "4294967296", "img_size is 4294967296, expected 1 to 65536",
       reads<Vit22bFamily>()},
      {"cait", "patch_size", "65537", "patch_size is 65537, expected 1 to 65536",
       reads<CaitFamily>()},
      {"clip", "vision_config", "{\"image_size\": 1e300}", "image_size is a decimal number",
       reads<ClipFamily>()},
      {"dinov2_registers", "mlp_ratio", "0.001", "mlp_ratio gives a hidden width of",
       reads<Dinov2RegistersFamily>()},
      {"dinov2_registers", "hidden_act", "\"tanh\"", "hidden_act is \"tanh\"",
       reads<Dinov2Family>()},
      {"dinov2_registers_giant", "num_attention_heads", "3",
       "hidden_size is 32, expected a multiple", reads<Dinov2GiantFamily>()},
      {"vit_22b_like", "qk_norm", "false", "qk_norm is \"false\", supported: true",
       reads<Vit22bFamily>()},
      {"vit_22b_like", "global_pool", "\"avg\"", "global_pool is \"avg\", supported: token",
       reads<Vit22bFamily>()},
      {"vit_22b_like", "init_values", "0.1", "init_values", reads<Vit22bFamily>()},
      {"cait", "global_pool", "\"avg\"", "global_pool is \"avg\", supported: token",
       reads<CaitFamily>()},
      {"clip", "text_config", "{\"hidden_act\": \"tanh\"}", "text_config: hidden_act is \"tanh\"",
       reads<ClipFamily>()},
      {"clip", "vision_config", "null", "has no key \"vision_config\"", reads<ClipFamily>()}};
  TemporaryFolder folder;
  for (const Refusal& c : cases) {
    Model model = Model::golden("../encoder/" + c.model);
    model.write(folder.path());
    EXPECT_NO_THROW(c.read(Checkpoint(folder.path()))) << c.model;
    model.config[c.key] = c.value;
    model.write_config(folder.path());
    const std::string got = support::message_of<Error>([&] { c.read(Checkpoint(folder.path())); });
    EXPECT_NE(got.find(c.expected), std::string::npos) << c.model << " " << c.key << ": " << got;
  }
}

TEST(EncoderConfig, LargeImagesAreComparedWithTheFile) {
  TemporaryFolder folder;
  Model model = Model::golden("../encoder/dinov2");
  model.config["image_size"] = "65536";  // 16384^2 patches and a class token
  model.write(folder.path());
  const std::string error =
      support::message_of<Error>([&] { load_model<Dinov2Family>(Checkpoint(folder.path())); });
  EXPECT_NE(error.find("embeddings.position_embeddings has shape [1, 26, 24], expected "
                       "[268435457, 24]"),
            std::string::npos)
      << error;
}

TEST(EncoderConfig, NoRegistersAreNoneHoweverTheyAreStored) {
  TemporaryFolder folder;
  Model model = Model::golden("../encoder/dinov2");
  model.config["model_type"] = "\"dinov2_with_registers\"";
  model.config["num_register_tokens"] = "0";
  for (const bool stored : {false, true}) {
    if (stored) model.tensors["embeddings.register_tokens"] = {{1, 0, 24}, {}};
    model.write(folder.path());
    const auto loaded = load_model<Dinov2RegistersFamily>(Checkpoint(folder.path()));
    EXPECT_EQ(loaded.config.tokens(), 26);
    EXPECT_TRUE(loaded.weights.registers.empty());
  }
  model.config["num_register_tokens"] = "2";
  model.write(folder.path());
  const std::string error = support::message_of<Error>(
      [&] { load_model<Dinov2RegistersFamily>(Checkpoint(folder.path())); });
  EXPECT_NE(error.find("embeddings.register_tokens has shape [1, 0, 24], expected [2, 24]"),
            std::string::npos)
      << error;
}

TEST(EncoderConfig, KindsOfOneNameShareTheCheckpoints) {
  TemporaryFolder folder;
  Model model = Model::golden("../encoder/t5_v1_0");
  for (const bool gated : {false, true}) {
    model.config["feed_forward_proj"] = gated ? "\"gated-silu\"" : "\"relu\"";
    model.write(folder.path());
    EXPECT_EQ(T5GatedFamily::accepts(Checkpoint(folder.path())), gated);
    EXPECT_EQ(T5Family::accepts(Checkpoint(folder.path())), !gated);
  }
}

TEST(EncoderConfig, ReadsModernBertsOlderKeys) {
  TemporaryFolder folder;
  Model model = Model::golden("../encoder/modernbert");
  model.config.erase("rope_parameters");
  model.config.erase("layer_types");
  model.config["global_rope_theta"] = "150000.0";
  model.config["local_rope_theta"] = "9000.0";
  model.config["global_attn_every_n_layers"] = "2";
  model.write(folder.path());
  const auto c = ModernBertFamily::config(Checkpoint(folder.path()));
  for (std::size_t i = 0; i < c.stack.layers.size(); ++i) {
    const auto& mixer = c.stack.layers[i].mixer;
    EXPECT_EQ(mixer.position.rule.theta, i % 2 == 0 ? 150000.0 : 9000.0) << i;
    EXPECT_EQ(mixer.mask.distance(), i % 2 == 0 ? LocalWindow::unlimited : 4) << i;
    EXPECT_EQ(c.stack.layers[i].norm.before_mixer, i != 0);
  }
}

}  // namespace
