// A config.json that says nothing but its model_type means what the class of transformers means by
// no arguments: published files leave out what is the default of their class.
#include <gtest/gtest.h>

#include <ashlar/models/presets/arcee.hpp>
#include <ashlar/models/presets/bart.hpp>
#include <ashlar/models/presets/chameleon.hpp>
#include <ashlar/models/presets/clip.hpp>
#include <ashlar/models/presets/cohere2.hpp>
#include <ashlar/models/presets/dinov2.hpp>
#include <ashlar/models/presets/ernie4_5.hpp>
#include <ashlar/models/presets/exaone4.hpp>
#include <ashlar/models/presets/falcon.hpp>
#include <ashlar/models/presets/gemma2.hpp>
#include <ashlar/models/presets/gemma3.hpp>
#include <ashlar/models/presets/gemma4.hpp>
#include <ashlar/models/presets/glm4.hpp>
#include <ashlar/models/presets/granite.hpp>
#include <ashlar/models/presets/llama.hpp>
#include <ashlar/models/presets/modernbert.hpp>
#include <ashlar/models/presets/mpt.hpp>
#include <ashlar/models/presets/nemotron.hpp>
#include <ashlar/models/presets/olmo.hpp>
#include <ashlar/models/presets/olmo3.hpp>
#include <ashlar/models/presets/opt.hpp>
#include <ashlar/models/presets/phi.hpp>
#include <ashlar/models/presets/phi3.hpp>
#include <ashlar/models/presets/qwen3.hpp>
#include <ashlar/models/presets/roberta.hpp>
#include <ashlar/models/presets/smollm3.hpp>
#include <ashlar/models/presets/stablelm.hpp>
#include <ashlar/models/presets/starcoder2.hpp>
#include <ashlar/models/presets/t5.hpp>
#include <ashlar/models/presets/whisper.hpp>

#include "model_files.hpp"

namespace models_test {
namespace {

using namespace ashlar;

/// A folder whose config.json names a family and says nothing else.
class EmptyFolder {
 public:
  explicit EmptyFolder(const std::string& family, const Config& more = {}) {
    Model m{.config = more, .tensors = {{"any", {{1}, {0.f}}}}};
    m.config["model_type"] = '"' + family + '"';
    m.write(folder_.path());
  }
  Checkpoint open() const { return Checkpoint(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

/// What the first layer and the model have.
struct Defaults {
  std::string family;
  std::vector<index_t> sizes;  // D, N, K, H, F, layers, positions, vocabulary
  double eps, theta;
  index_t turned, sliding_layers, window;
  bool tied;
  std::string activation;
};

/// Printed by class_defaults.py.
std::vector<Defaults> of_transformers() {
  return {
      {"llama",
       {4096, 32, 32, 128, 11008, 32, 2048, 32000},
       1e-06,
       10000,
       128,
       0,
       0,
       false,
       "silu"},
      {"mistral",
       {4096, 32, 8, 128, 14336, 32, 131072, 32000},
       1e-06,
       10000,
       128,
       32,
       4096,
       false,
       "silu"},
      {"qwen2",
       {4096, 32, 32, 128, 22016, 32, 32768, 151936},
       1e-06,
       10000,
       128,
       0,
       0,
       false,
       "silu"},
      {"qwen3",
       {4096, 32, 32, 128, 22016, 32, 32768, 151936},
       1e-06,
       10000,
       128,
       0,
       0,
       false,
       "silu"},
      {"phi3", {3072, 32, 32, 96, 8192, 32, 4096, 32064}, 1e-05, 10000, 96, 0, 0, false, "silu"},
      {"phi", {2048, 32, 32, 64, 8192, 24, 2048, 51200}, 1e-05, 10000, 32, 0, 0, false, "gelu_new"},
      {"gpt_neox",
       {6144, 64, 64, 96, 24576, 44, 2048, 50432},
       1e-05,
       10000,
       24,
       0,
       0,
       false,
       "gelu"},
      {"gptj",
       {4096, 16, 16, 256, 16384, 28, 2048, 50400},
       1e-05,
       10000,
       64,
       0,
       0,
       false,
       "gelu_new"},
      {"gpt2", {768, 12, 12, 64, 3072, 12, 1024, 50257}, 1e-05, 0, 0, 0, 0, true, "gelu_new"},
      {"opt", {768, 12, 12, 64, 3072, 12, 2048, 50272}, 1e-05, 0, 0, 0, 0, true, "relu"},
      {"bloom", {64, 8, 8, 8, 256, 2, 0, 250880}, 1e-05, 0, 0, 0, 0, true, ""},
      {"mpt", {2048, 16, 16, 128, 8192, 24, 2048, 50368}, 1e-05, 0, 0, 0, 0, true, ""},
      {"falcon", {4544, 71, 1, 64, 18176, 32, 2048, 65024}, 1e-05, 10000, 64, 0, 0, true, "gelu"},
      {"stablelm",
       {2560, 32, 32, 80, 6912, 32, 4096, 50304},
       1e-05,
       10000,
       20,
       0,
       0,
       false,
       "silu"},
      {"nemotron",
       {6144, 48, 48, 128, 24576, 32, 4096, 256000},
       1e-05,
       10000,
       64,
       0,
       0,
       false,
       "relu2"},
      {"starcoder2",
       {3072, 24, 2, 128, 12288, 30, 4096, 49152},
       1e-05,
       10000,
       128,
       0,
       0,
       true,
       "gelu_pytorch_tanh"},
      {"smollm3",
       {2048, 16, 4, 128, 11008, 36, 32768, 128256},
       1e-06,
       2e+06,
       128,
       0,
       0,
       true,
       "silu"},
      {"arcee", {2560, 32, 32, 80, 18432, 32, 4096, 32000}, 1e-05, 10000, 80, 0, 0, false, "relu2"},
      {"granite",
       {4096, 32, 32, 128, 11008, 32, 2048, 32000},
       1e-06,
       10000,
       128,
       0,
       0,
       false,
       "silu"},
      {"ernie4_5",
       {1024, 16, 2, 128, 3072, 18, 131072, 103424},
       1e-05,
       500000,
       128,
       0,
       0,
       true,
       "silu"},
      {"glm4",
       {4096, 32, 2, 128, 13696, 40, 131072, 151552},
       1.5625e-07,
       10000,
       64,
       0,
       0,
       false,
       "silu"},
      {"cohere",
       {8192, 64, 64, 128, 22528, 40, 8192, 256000},
       1e-05,
       500000,
       128,
       0,
       0,
       true,
       "silu"},
      {"cohere2",
       {8192, 64, 64, 128, 22528, 40, 8192, 256000},
       1e-05,
       10000,
       128,
       30,
       4096,
       true,
       "silu"},
      {"exaone4",
       {4096, 32, 32, 128, 16384, 32, 2048, 102400},
       1e-05,
       10000,
       128,
       24,
       4096,
       false,
       "silu"},
      {"olmo", {4096, 32, 32, 128, 11008, 32, 2048, 50304}, 1e-05, 10000, 128, 0, 0, false, "silu"},
      {"olmo2",
       {4096, 32, 32, 128, 11008, 32, 2048, 50304},
       1e-05,
       10000,
       128,
       0,
       0,
       false,
       "silu"},
      {"olmo3",
       {4096, 32, 32, 128, 11008, 32, 2048, 50304},
       1e-05,
       500000,
       128,
       24,
       4096,
       false,
       "silu"},
      {"chameleon",
       {4096, 32, 32, 128, 11008, 32, 4096, 65536},
       1e-05,
       10000,
       128,
       0,
       0,
       false,
       "silu"},
      {"gemma",
       {3072, 16, 16, 256, 24576, 28, 8192, 256000},
       1e-06,
       10000,
       256,
       0,
       0,
       true,
       "gelu_pytorch_tanh"},
      {"gemma2",
       {2304, 8, 4, 256, 9216, 26, 8192, 256000},
       1e-06,
       10000,
       256,
       13,
       4096,
       true,
       "gelu_pytorch_tanh"},
      {"gemma3_text",
       {2304, 8, 4, 256, 9216, 26, 131072, 262208},
       1e-06,
       10000,
       256,
       22,
       4096,
       true,
       "gelu_pytorch_tanh"},
      {"gemma4_text",
       {2304, 8, 4, 256, 9216, 30, 131072, 262144},
       1e-06,
       10000,
       256,
       25,
       512,
       true,
       "gelu_pytorch_tanh"}};
}

ActivationKind kind_of(const std::string& name) {
  const TemporaryFolder folder;
  write_file(folder / "config.json", "{}");
  return read_activation(ConfigReader(folder / "config.json"), "hidden_act", name);
}

template <class Family>
void expect_defaults(const Checkpoint& checkpoint, const Defaults& want) {
  const auto c = Family::config(checkpoint);
  const auto& layer = c.layers.at(0);
  const Dims& d = layer.dims;
  EXPECT_EQ(
      (std::vector<index_t>{d.d_model, d.n_heads, d.n_kv_heads, d.head_dim, d.d_ff,
                            static_cast<index_t>(c.layers.size()), c.context_length, c.vocabulary}),
      want.sizes);
  EXPECT_EQ(layer.norm.eps, static_cast<float>(want.eps));
  EXPECT_EQ(c.tied_head, want.tied);
  if constexpr (requires { layer.mixer.position.rule; }) {
    EXPECT_EQ(layer.mixer.position.rule.theta, want.theta);
    EXPECT_EQ(layer.mixer.position.rule.width, want.turned);
  }
  if constexpr (requires { layer.mixer.mask.window(); }) {
    index_t sliding = 0, window = 0;
    for (const auto& l : c.layers)
      if (l.mixer.mask.window() != SlidingWindow::unlimited) {
        ++sliding;
        window = l.mixer.mask.window();
      }
    EXPECT_EQ(sliding, want.sliding_layers);
    EXPECT_EQ(window, want.window);
  } else {
    EXPECT_EQ(want.sliding_layers, 0);
  }
  if constexpr (requires { layer.ffn.activation == ActivationKind::silu; }) {
    EXPECT_EQ(layer.ffn.activation, kind_of(want.activation));
  }
}

TEST(FamilyDefaults, OfDecoders) {
  using All =
      Families<LlamaFamily, MistralFamily, Qwen2Family, Qwen3Family, Phi3Family, PhiFamily,
               GptNeoxFamily, GptjFamily, Gpt2Family, OptFamily, BloomFamily, MptFamily,
               FalconFamily, StableLmFamily, NemotronFamily, Starcoder2Family, SmolLm3Family,
               ArceeFamily, GraniteFamily, Ernie45Family, Glm4Family, CohereFamily, Cohere2Family,
               Exaone4Family, OlmoFamily, Olmo2Family, Olmo3Family, ChameleonFamilies, GemmaFamily,
               Gemma2Family, Gemma3Family, Gemma4Family>;
  for (const Defaults& want : of_transformers()) {
    SCOPED_TRACE(want.family);
    const EmptyFolder folder(want.family);
    All::with_family_of(folder.open(),
                        [&]<class Family>() { expect_defaults<Family>(folder.open(), want); });
  }
}

/// N, K and H of the first layer where config.json has keys that the class may not look at.
template <class Family>
std::vector<index_t> heads_of(const std::string& family, const Config& more = {}) {
  Config config = more;
  config["num_key_value_heads"] = "2";
  config["head_dim"] = "48";
  const auto c = Family::config(EmptyFolder(family, config).open());
  const Dims& d = [&]() -> const Dims& {
    if constexpr (requires { c.stack; })
      return c.stack.layers.at(0).dims;
    else
      return c.layers.at(0).dims;
  }();
  return {d.n_heads, d.n_kv_heads, d.head_dim};
}

// The expected numbers are hidden_size // num_attention_heads of the classes, which keep the two
// keys of other families in their config and do not read them.
TEST(FamilyDefaults, KeysOfOtherFamiliesCountForNothing) {
  using Heads = std::vector<index_t>;
  EXPECT_EQ((heads_of<FalconKind<ParallelOneNormSpec, 1, false>>("falcon")), (Heads{71, 1, 64}));
  EXPECT_EQ((heads_of<FalconKind<ParallelTwoNormsSpec, 2, false>>(
                "falcon", {{"new_decoder_architecture", "true"},
                           {"hidden_size", "8192"},
                           {"num_attention_heads", "128"},
                           {"num_kv_heads", "8"}})),
            (Heads{128, 8, 64}));
  EXPECT_EQ(heads_of<GptNeoxKind<true>>("gpt_neox"), (Heads{64, 64, 96}));
  EXPECT_EQ(heads_of<Gpt2Family>("gpt2"), (Heads{12, 12, 64}));
  EXPECT_EQ(heads_of<GptjFamily>("gptj"), (Heads{16, 16, 256}));
  EXPECT_EQ(heads_of<BloomKind<false>>("bloom"), (Heads{8, 8, 8}));
  EXPECT_EQ(heads_of<OptKind<Gpt2FileSpec>>("opt"), (Heads{12, 12, 64}));
  EXPECT_EQ(heads_of<MptFamily>("mpt"), (Heads{16, 16, 128}));
  EXPECT_EQ(heads_of<BertFamily>("bert"), (Heads{12, 12, 64}));
  EXPECT_EQ(heads_of<RobertaFamily>("roberta"), (Heads{12, 12, 64}));
  EXPECT_EQ(heads_of<ModernBertFamily>("modernbert"), (Heads{12, 12, 64}));
  EXPECT_EQ(heads_of<VitFamily>("vit"), (Heads{12, 12, 64}));
  EXPECT_EQ(heads_of<Dinov2Family>("dinov2"), (Heads{12, 12, 64}));
  // These read the number of key heads.
  EXPECT_EQ(heads_of<ChameleonKind<ChameleonSpec>>("chameleon"), (Heads{32, 2, 128}));
  EXPECT_EQ(heads_of<StableLmKind<false>>("stablelm"), (Heads{32, 2, 80}));
  // And these both.
  EXPECT_EQ(heads_of<LlamaFamily>("llama"), (Heads{32, 2, 48}));
}

/// D, N, F, layers, vocabulary, positions.
template <class Family>
void expect_encoder(const std::vector<index_t>& want, float eps) {
  SCOPED_TRACE(Family::name);
  const EmptyFolder folder{std::string(Family::name)};
  const auto c = Family::config(folder.open());
  const auto& layer = c.stack.layers.at(0);
  EXPECT_EQ((std::vector<index_t>{layer.dims.d_model, layer.dims.n_heads, layer.dims.d_ff,
                                  static_cast<index_t>(c.stack.layers.size()), c.vocabulary,
                                  c.context_length}),
            want);
  EXPECT_EQ(layer.norm.eps, eps);
  EXPECT_EQ(layer.ffn.activation, ActivationKind::gelu);
}

TEST(FamilyDefaults, OfEncoders) {
  expect_encoder<BertFamily>({768, 12, 3072, 12, 30522, 512}, 1e-12f);
  expect_encoder<RobertaFamily>({768, 12, 3072, 12, 50265, 510}, 1e-12f);
  expect_encoder<XlmRobertaFamily>({768, 12, 3072, 12, 30522, 510}, 1e-12f);
  expect_encoder<ModernBertFamily>({768, 12, 1152, 22, 50368, 8192}, 1e-5f);
}

/// D, N, F of both stacks, their layers, vocabulary.
template <class Family>
void expect_encoder_decoder(const std::vector<index_t>& want) {
  SCOPED_TRACE(Family::name);
  const EmptyFolder folder{std::string(Family::name)};
  const auto c = Family::config(folder.open());
  const auto& e = c.encoder.stack.layers;
  const auto& d = c.layers;
  EXPECT_EQ(
      (std::vector<index_t>{c.d_model, e.at(0).dims.n_heads, e[0].dims.d_ff, d.at(0).dims.n_heads,
                            d[0].dims.d_ff, static_cast<index_t>(e.size()),
                            static_cast<index_t>(d.size()), c.vocabulary}),
      want);
}

TEST(FamilyDefaults, OfEncoderDecoders) {
  expect_encoder_decoder<T5Family>({512, 8, 2048, 8, 2048, 6, 6, 32128});
  expect_encoder_decoder<BartFamily>({1024, 16, 4096, 16, 4096, 12, 12, 50265});
  expect_encoder_decoder<WhisperFamily>({384, 6, 1536, 6, 1536, 4, 4, 51865});
  // 32 buckets up to a distance of 128, and no table: T5's own numbers, and an error by name.
  const EmptyFolder folder("t5");
  const auto c = T5Family::config(folder.open());
  const T5Buckets& buckets = c.encoder.stack.layers.at(0).mixer.score.buckets;
  EXPECT_EQ(buckets.buckets(), 32);
  EXPECT_EQ(buckets(-127), 15);
  EXPECT_EQ(buckets(-50), 13);  // 8 + 8 log(50 / 8) / log(128 / 8) = 13.3
  EXPECT_EQ(buckets(50), 16 + 13);
  const std::string error = build::error_of([&] { load_model<T5Family>(folder.open()); });
  EXPECT_TRUE(build::says(error, "missing: shared.weight, "));
  EXPECT_TRUE(build::says(error, "SelfAttention.relative_attention_bias.weight"));
}

/// Image, patch, channels, D, N, F, layers.
template <class Config>
void expect_vision(const Config& c, const std::vector<index_t>& want) {
  const auto& layers = c.stack.layers;
  EXPECT_EQ((std::vector<index_t>{c.height, c.patches.patch, c.patches.channels, c.d_model,
                                  layers.at(0).dims.n_heads, layers[0].dims.d_ff,
                                  static_cast<index_t>(layers.size())}),
            want);
}

TEST(FamilyDefaults, OfVision) {
  expect_vision(VitFamily::config(EmptyFolder("vit").open()), {224, 16, 3, 768, 12, 3072, 12});
  expect_vision(Dinov2Family::config(EmptyFolder("dinov2").open()),
                {224, 14, 3, 768, 12, 3072, 12});
  const auto with = Dinov2RegistersFamily::config(EmptyFolder("dinov2_with_registers").open());
  expect_vision(with, {224, 16, 3, 768, 12, 3072, 12});
  EXPECT_EQ(with.registers, 4);
  const EmptyFolder folder("clip", {{"text_config", "{}"}, {"vision_config", "{}"}});
  const auto clip = ClipFamily::config(folder.open());
  expect_vision(clip.vision, {224, 32, 3, 768, 12, 3072, 12});
  EXPECT_EQ(clip.text.vocabulary, 49408);
  EXPECT_EQ(clip.text.context_length, 77);
  EXPECT_EQ(clip.text.stack.layers.at(0).dims.n_heads, 8);
  EXPECT_EQ(clip.projection, 512);
}

}  // namespace
}  // namespace models_test
