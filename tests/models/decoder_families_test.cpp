// Decoder families: the older published form of a configuration gives the newer one's numbers,
// absent keys mean the family's defaults, and what is refused names key and value.
#include <gtest/gtest.h>

#include <ashlar/models/presets/arcee.hpp>
#include <ashlar/models/presets/chameleon.hpp>
#include <ashlar/models/presets/cohere2.hpp>
#include <ashlar/models/presets/ernie4_5.hpp>
#include <ashlar/models/presets/exaone4.hpp>
#include <ashlar/models/presets/gemma2.hpp>
#include <ashlar/models/presets/gemma3.hpp>
#include <ashlar/models/presets/gemma4.hpp>
#include <ashlar/models/presets/glm4.hpp>
#include <ashlar/models/presets/granite.hpp>
#include <ashlar/models/presets/mpt.hpp>
#include <ashlar/models/presets/olmo.hpp>
#include <ashlar/models/presets/olmo3.hpp>
#include <ashlar/models/presets/smollm3.hpp>

#include "model_files.hpp"

namespace models_test {
namespace {

using namespace ashlar;
using Chameleon = ChameleonKind<ChameleonSpec>;

/// Keys to be set; null text takes the key out.
using Changes = std::vector<std::pair<const char*, const char*>>;

template <class Family>
auto config_with(const char* golden, const Changes& changes) {
  const TemporaryFolder folder;
  Model m = Model::golden(golden);
  for (const auto& [key, value] : changes) {
    m.config.erase(key);
    if (value) m.config[key] = value;
  }
  m.write(folder.path());
  return Family::config(Checkpoint(folder.path()));
}

template <class Config>
void expect_same(const Config& a, const Config& b) {
  EXPECT_EQ(a.vocabulary, b.vocabulary);
  EXPECT_EQ(a.context_length, b.context_length);
  EXPECT_EQ(a.tied_head, b.tied_head);
  EXPECT_EQ(a.embedding_scale, b.embedding_scale);
  EXPECT_EQ(a.logit_scale, b.logit_scale);
  EXPECT_EQ(a.logit_cap, b.logit_cap);
  EXPECT_EQ(a.state_of, b.state_of);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    SCOPED_TRACE("layer " + std::to_string(i));
    const auto &x = a.layers[i], &y = b.layers[i];
    EXPECT_EQ(x.dims.d_model, y.dims.d_model);
    EXPECT_EQ(x.dims.n_kv_heads, y.dims.n_kv_heads);
    EXPECT_EQ(x.dims.head_dim, y.dims.head_dim);
    EXPECT_EQ(x.dims.d_ff, y.dims.d_ff);
    EXPECT_EQ(x.mixer.position.rule, y.mixer.position.rule);
    EXPECT_EQ(x.mixer.position.pairing, y.mixer.position.pairing);
    EXPECT_EQ(x.mixer.scale, y.mixer.scale);
    EXPECT_EQ(x.mixer.value_is_key, y.mixer.value_is_key);
    EXPECT_EQ(x.ffn.activation, y.ffn.activation);
    if constexpr (requires { x.mixer.mask.window(); }) {
      EXPECT_EQ(x.mixer.mask.window(), y.mixer.mask.window());
    }
  }
}

template <class Family>
void expect_older(const char* golden, Changes older) {
  SCOPED_TRACE(golden);
  older.push_back({"rope_parameters", nullptr});
  expect_same(config_with<Family>(golden, older), config_with<Family>(golden, {}));
}

constexpr const char* none = nullptr;

TEST(DecoderFamilies, OlderFormsGiveTheSameConfiguration) {
  expect_older<GemmaFamily>("gemma", {{"rope_theta", "700.0"}, {"hidden_act", "\"gelu\""}});
  expect_older<Gemma2Family>("gemma2", {{"rope_theta", "700.0"}, {"layer_types", none}});
  expect_older<Gemma3Family>("gemma3", {{"rope_theta", "9000.0"},
                                        {"rope_local_base_freq", "300.0"},
                                        {"rope_scaling", R"({"type": "linear", "factor": 4.0})"},
                                        {"layer_types", none},
                                        {"sliding_window_pattern", "6"}});
  const char* yarn = R"({"rope_type": "yarn", "factor": 4.0, "beta_fast": 3.0, "beta_slow": 0.4,
                         "original_max_position_embeddings": 48})";
  expect_older<Olmo2Family>("olmo2", {{"rope_theta", "700.0"}});
  expect_older<Olmo3Family>(
      "olmo3", {{"rope_theta", "60.0"}, {"rope_scaling", yarn}, {"layer_types", none}});
  expect_older<CohereFamily>("cohere", {{"rope_theta", "700.0"}});
  expect_older<Cohere2Family>(
      "cohere2", {{"rope_theta", "700.0"}, {"layer_types", none}, {"sliding_window_pattern", "4"}});
  expect_older<SmolLm3Family>(
      "smollm3", {{"rope_theta", "700.0"}, {"layer_types", none}, {"no_rope_layers", none}});
  expect_older<GraniteFamily>("granite", {{"rope_theta", "700.0"}});
  expect_older<Glm4Family>("glm4", {{"rope_theta", "700.0"}, {"partial_rotary_factor", "0.67"}});
  expect_older<Ernie45Family>("ernie4_5", {{"rope_theta", "700.0"}});
  expect_older<Exaone4Family>("exaone4", {{"rope_theta", "700.0"}, {"layer_types", none}});
  expect_older<Chameleon>("chameleon", {{"rope_theta", "700.0"}});
  expect_older<OlmoFamily>("olmo", {{"rope_theta", "700.0"}});
  expect_older<ArceeFamily>("arcee", {{"rope_theta", "700.0"}});
}

TEST(DecoderFamilies, Gemma4HeadsOfFullLayersInBothForms) {
  const auto same = [](const char* golden, const Changes& older) {
    SCOPED_TRACE(golden);
    expect_same(config_with<Gemma4Family>(golden, older), config_with<Gemma4Family>(golden, {}));
  };
  same("gemma4", {{"per_layer_config", none}, {"global_head_dim", "16"}});
  same("gemma4_k_is_v", {{"per_layer_config", none},
                         {"global_head_dim", "16"},
                         {"num_global_key_value_heads", "1"},
                         {"layer_types", none}});
  same("gemma4_shared_kv", {{"per_layer_config", none}, {"global_head_dim", "12"}});
  // Without rotary rules, and with a last layer that must be full.
  const auto c = config_with<Gemma4Family>(
      "gemma4", {{"rope_parameters", none},
                 {"layer_types", R"(["sliding_attention", "full_attention", "sliding_attention",
                           "sliding_attention"])"}});
  EXPECT_EQ(c.layers[0].mixer.position.rule, (RopeRule{1e4, 8, {}}));
  EXPECT_EQ(c.layers[3].mixer.position.rule, (RopeRule{1e6, 16, rope_scaling::Proportional{2}}));
  EXPECT_EQ(c.layers[3].mixer.mask.window(), SlidingWindow::unlimited);
  EXPECT_EQ(c.layers[2].mixer.mask.window(), 5);
}

/// D, N, K, H, F, layers, vocabulary, positions without any of their keys.
template <class Family>
void expect_sizes(const char* golden, const std::vector<index_t>& expected) {
  SCOPED_TRACE(golden);
  Changes changes;
  for (const char* key :
       {"hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim",
        "intermediate_size", "num_hidden_layers", "vocab_size", "max_position_embeddings",
        "layer_types", "no_rope_layers", "per_layer_config", "rope_parameters"})
    changes.push_back({key, none});
  const auto c = config_with<Family>(golden, changes);
  const Dims& d = c.layers.at(0).dims;
  EXPECT_EQ(
      (std::vector<index_t>{d.d_model, d.n_heads, d.n_kv_heads, d.head_dim, d.d_ff,
                            static_cast<index_t>(c.layers.size()), c.vocabulary, c.context_length}),
      expected);
}

TEST(DecoderFamilies, AbsentSizesAreTheFamilysOwn) {
  expect_sizes<GemmaFamily>("gemma", {3072, 16, 16, 256, 24576, 28, 256000, 8192});
  expect_sizes<Gemma2Family>("gemma2", {2304, 8, 4, 256, 9216, 26, 256000, 8192});
  expect_sizes<Gemma3Family>("gemma3", {2304, 8, 4, 256, 9216, 26, 262208, 131072});
  expect_sizes<Gemma4Family>("gemma4", {2304, 8, 4, 256, 9216, 30, 262144, 131072});
  expect_sizes<Olmo2Family>("olmo2", {4096, 32, 32, 128, 11008, 32, 50304, 2048});
  expect_sizes<Olmo3Family>("olmo3", {4096, 32, 32, 128, 11008, 32, 50304, 2048});
  expect_sizes<CohereFamily>("cohere", {8192, 64, 64, 128, 22528, 40, 256000, 8192});
  expect_sizes<SmolLm3Family>("smollm3", {2048, 16, 4, 128, 11008, 36, 128256, 32768});
  expect_sizes<GraniteFamily>("granite", {4096, 32, 32, 128, 11008, 32, 32000, 2048});
  expect_sizes<Glm4Family>("glm4", {4096, 32, 2, 128, 13696, 40, 151552, 131072});
  expect_sizes<Ernie45Family>("ernie4_5", {1024, 16, 2, 128, 3072, 18, 103424, 131072});
  expect_sizes<Exaone4Family>("exaone4", {4096, 32, 32, 128, 16384, 32, 102400, 2048});
  expect_sizes<OlmoFamily>("olmo", {4096, 32, 32, 128, 11008, 32, 50304, 2048});
  expect_sizes<ArceeFamily>("arcee", {2560, 32, 32, 80, 18432, 32, 32000, 4096});
}

TEST(DecoderFamilies, NullIsNoneWhereAnAbsentKeyIsADefault) {
  const auto caps = [](const char* value) {
    const auto c = config_with<Gemma2Family>(
        "gemma2", {{"attn_logit_softcapping", value}, {"final_logit_softcapping", value}});
    return std::pair{c.layers.at(0).mixer.score.cap(), c.logit_cap};
  };
  EXPECT_EQ(caps("null"), (std::pair{0.f, 0.f}));
  EXPECT_EQ(caps(none), (std::pair{50.f, 30.f}));
  const auto window = [](const char* value) {
    return config_with<Olmo3Family>("olmo3", {{"sliding_window", value}})
        .layers.at(0)
        .mixer.mask.window();
  };
  EXPECT_EQ(window("null"), SlidingWindow::unlimited);
  EXPECT_EQ(window(none), 4096);
  // Without a window every layer of EXAONE 4 has positions.
  for (const auto& layer :
       config_with<Exaone4Family>("exaone4", {{"sliding_window", "null"}, {"layer_types", none}})
           .layers)
    EXPECT_EQ(layer.mixer.position.rule.width, 6);
}

template <class Family>
void expect_refused(const char* golden, const char* key, const char* value, const char* text) {
  const std::string error = build::error_of([&] { config_with<Family>(golden, {{key, value}}); });
  EXPECT_TRUE(build::says(error, text)) << golden << " " << key << ": " << error;
}

TEST(DecoderFamilies, RefusalsNameKeyAndValue) {
  const char* chunked = R"(["chunked_attention", "full_attention", "full_attention",
                            "full_attention"])";
  expect_refused<GemmaFamily>("gemma", "use_bidirectional_attention", "true",
                              "use_bidirectional_attention is \"true\", supported: false");
  expect_refused<GemmaFamily>("gemma", "hidden_act", "\"mish\"", "hidden_act is \"mish\"");
  expect_refused<Gemma2Family>("gemma2", "layer_types", chunked,
                               "layer_types is \"chunked_attention\"");
  expect_refused<Gemma2Family>("gemma2", "attn_logit_softcapping", "0",
                               "attn_logit_softcapping is 0, expected");
  expect_refused<Gemma2Family>("gemma2", "query_pre_attn_scalar", "-1",
                               "query_pre_attn_scalar is -1, expected");
  expect_refused<MptFamily>("mpt", "attn_config", R"({"prefix_lm": true})",
                            "prefix_lm is \"true\", supported: false");
  expect_refused<MptFamily>("mpt", "attn_config", R"({"qk_ln": true})", "qk_ln is \"true\"");
  expect_refused<MptFamily>("mpt", "attn_config", R"({"alibi_bias_max": 16})",
                            "alibi_bias_max is \"16\", supported: 8");
  expect_refused<MptFamily>("mpt", "norm_type", "\"rmsnorm\"", "norm_type is \"rmsnorm\"");
  expect_refused<MptFamily>("mpt", "logit_scale", "0.5", "logit_scale is \"set\"");
  expect_refused<Gemma3Family>("gemma3", "layer_types", "[\"full_attention\"]",
                               "layer_types has 1 entries, expected 7");
  expect_refused<Gemma4Family>("gemma4", "use_bidirectional_attention", "\"all\"",
                               "use_bidirectional_attention is \"all\"");
  expect_refused<Gemma4Family>("gemma4", "enable_moe_block", "true",
                               "enable_moe_block is \"true\"");
  expect_refused<Gemma4Family>("gemma4", "num_kv_shared_layers", "9",
                               "num_kv_shared_layers is 9, expected 0 to 4");
  expect_refused<Gemma4Family>("gemma4", "per_layer_config", R"({"1": {"skip": []}})",
                               "per_layer_config: 1 has the key \"skip\"");
  expect_refused<Gemma4Family>("gemma4", "per_layer_config", R"({"1": {"num_key_value_heads": 3}})",
                               "layer 1 has 3 key and value heads, expected a divisor");
  expect_refused<Gemma4Family>("gemma4_shared_kv", "num_kv_shared_layers", "6",
                               "num_kv_shared_layers is 6, but layer 1 has no layer of its type");
  expect_refused<Cohere2Family>("cohere2", "use_qk_norm", "true", "use_qk_norm is \"true\"");
  expect_refused<SmolLm3Family>("smollm3", "no_rope_layers", "[1, 0]",
                                "no_rope_layers has 2 entries, expected at least 5");
  expect_refused<GraniteFamily>("granite", "logits_scaling", "0", "logits_scaling is 0, expected");
  expect_refused<Exaone4Family>("exaone4", "sliding_window", "0", "sliding_window is 0, expected");
  expect_refused<Chameleon>("chameleon", "vocabulary_map", R"({"IMGIMGA": 101})",
                            "vocabulary_map.IMGIMGA is 101, expected 0 to 100");
  expect_refused<OlmoFamily>("olmo", "clip_qkv", "-1", "clip_qkv is -1, expected");
}

TEST(DecoderFamilies, Gemma4CountsLayersWithZerosInFront) {
  const auto config = [](const char* heads) {
    return config_with<Gemma4Family>("gemma4", {{"per_layer_config", heads}});
  };
  expect_same(config(R"({"01": {"head_dim": 16}, "003": {"head_dim": 16}})"),
              config(R"({"1": {"head_dim": 16}, "3": {"head_dim": 16}})"));
  EXPECT_EQ(config(R"({"00": {"head_dim": 24}, "11": {"head_dim": 16}})").layers[0].dims.head_dim,
            24);
  EXPECT_EQ(config(R"({"10": {"head_dim": 24}})").layers[0].dims.head_dim, 8);
  expect_refused<Gemma4Family>("gemma4", "per_layer_config", R"({"01": {"skip": []}})",
                               "per_layer_config: 01 has the key \"skip\"");
}

TEST(DecoderFamilies, NormsOfHeadsAreStoredHeadByHead) {
  const auto error = [](const auto& family, const std::string& golden, const std::string& tensor) {
    using Family = std::decay_t<decltype(family)>;
    Model m = Model::golden(golden);
    std::swap(m.tensors.at(tensor).shape[0], m.tensors.at(tensor).shape[1]);
    const TemporaryFolder folder;
    m.write(folder.path());
    return build::error_of([&] { load_model<Family>(Checkpoint(folder.path())); });
  };
  const std::string layer = "model.layers.0.self_attn.";
  EXPECT_TRUE(build::says(error(CohereFamily{}, "cohere_qk_norm", layer + "k_norm.weight"),
                          "k_norm.weight has shape [6, 2], expected [2, 6]"));
  EXPECT_TRUE(build::says(error(Chameleon{}, "chameleon", layer + "k_norm.bias"),
                          "k_norm.bias has shape [6, 2], expected [2, 6]"));
}

TEST(DecoderFamilies, KindsOfChameleonAreToldApart) {
  const std::string folder = std::string(ASHLAR_TEST_DATA) + "/decoder/chameleon";
  const Checkpoint plain(folder), swin(folder + "_swin");
  EXPECT_TRUE(is_family<Chameleon>(plain) && !is_family<Chameleon>(swin));
  EXPECT_TRUE(is_family<ChameleonKind<ChameleonSwinSpec>>(swin));
  EXPECT_EQ(ChameleonFamilies::names(), "chameleon");
}

}  // namespace
}  // namespace models_test
