// config.json: both forms of the rotary rule, and values that are refused by key and value.
#include <gtest/gtest.h>

#include <ashlar/models/presets/gpt2.hpp>
#include <ashlar/models/presets/llama.hpp>

#include "model_files.hpp"

namespace models_test {
namespace {

using namespace ashlar;
namespace rules = ashlar::rope_scaling;

ConfigReader reader(const TemporaryFolder& folder, const std::string& json) {
  write_file(folder / "config.json", json);
  return ConfigReader(folder / "config.json");
}
RopeRule rule(const std::string& json, index_t width = 64, const RopeKeys& keys = {}) {
  const TemporaryFolder folder;
  return read_rope_rule(reader(folder, json), width, keys);
}

TEST(ConfigReader, NullIsAbsentAndTypesAreChecked) {
  const TemporaryFolder folder;
  const auto c = reader(folder,
                        R"({"n": 3, "x": 2.5, "b": true, "s": "text", "none": null, "o": {"n": 4},
                            "inf": Infinity, "minus": -1})");
  EXPECT_EQ(c.integer("n"), 3);
  EXPECT_EQ(c.number("n"), 3.0);
  EXPECT_EQ(c.positive("x"), 2.5);
  EXPECT_EQ(c.positive("absent", 0.5), 0.5);
  EXPECT_TRUE(c.boolean("b", false));
  EXPECT_EQ(c.string("s"), "text");
  EXPECT_EQ(c.object("o")->integer("n"), 4);
  EXPECT_FALSE(c.has("none"));
  EXPECT_EQ(c.integer("none", 7), 7);
  EXPECT_FALSE(c.object("none"));
  const auto error = [&](auto f) { return build::error_of(f); };
  const std::string path = folder / "config.json: ";
  EXPECT_EQ(error([&] { c.integer("none"); }), folder / "config.json: has no key \"none\"");
  EXPECT_EQ(error([&] { c.integer("x"); }),
            path + "x is a decimal number, expected a 64-bit integer");
  EXPECT_EQ(error([&] { c.string("n"); }), path + "n is an integer, expected a string");
  EXPECT_EQ(error([&] { c.boolean("n", true); }), path + "n is an integer, expected true or false");
  EXPECT_TRUE(build::says(error([&] { c.object("n"); }), "n: expected an object"));
  EXPECT_EQ(error([&] { c.size("minus"); }), path + "minus is -1, expected 1 to 2147483648");
  EXPECT_EQ(error([&] { c.positive("minus"); }),
            path + "minus is -1, expected a finite number above 0");
  EXPECT_TRUE(build::says(error([&] { c.positive("inf"); }), "inf is inf, expected"));
  EXPECT_TRUE(build::says(error([&] { c.object("o")->string("n"); }), "o: n is an integer"));
}

TEST(RopeConfig, BothFormsGiveTheSameRule) {
  const std::string llama3 =
      R"("factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 8192})";
  const RopeRule expected{500000.0, 64, rules::Llama3{8, 8192, 1, 4}};
  const std::string older = R"({"rope_theta": 500000.0, "max_position_embeddings": 131072,
                                "rope_scaling": {"rope_type": "llama3", )" +
                            llama3 + "}";
  const std::string newer =
      R"({"rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, )" + llama3 + "}";
  EXPECT_EQ(rule(older), expected);
  EXPECT_EQ(rule(newer), expected);
  EXPECT_EQ(rule(R"({"rope_scaling": {"type": "linear", "factor": 2}})"),
            (RopeRule{10000.0, 64, rules::Linear{2}}));
  EXPECT_EQ(rule(R"({"rope_scaling": null})"), (RopeRule{10000.0, 64, {}}));
  // An empty object says as little as null.
  EXPECT_EQ(rule(R"({"rope_scaling": {}, "rope_parameters": {"rope_type": "llama3",
                     "rope_theta": 500000.0, )" +
                 llama3 + "}"),
            expected);
  EXPECT_EQ(rule(R"({"rope_scaling": {}, "rope_theta": 7.0})"), (RopeRule{7.0, 64, {}}));
  EXPECT_EQ(rule(R"({"rope_parameters": {}, "rope_theta": 7.0})"), (RopeRule{7.0, 64, {}}));
  EXPECT_EQ(rule(R"({"rope_parameters": {"rope_theta": 5.0, "rope_type": "default"}})"),
            (RopeRule{5.0, 64, {}}));
  EXPECT_EQ(rule(R"({"max_position_embeddings": 4096,
                     "rope_scaling": {"type": "dynamic", "factor": 2.0}})"),
            (RopeRule{10000.0, 64, rules::Dynamic{2, 4096}}));
}

TEST(RopeConfig, YarnTakesItsMagnitudeFromTheKeysThatAreThere) {
  const auto yarn = [](const std::string& more) {
    const auto r = rule(R"({"max_position_embeddings": 131072, "rope_scaling": {"type": "yarn",
        "factor": 40.0, "original_max_position_embeddings": 4096)" +
                        more + "}}");
    return *r.scaling.get_if<rules::Yarn>();
  };
  const double usual = 0.1 * std::log(40.0) + 1;
  EXPECT_EQ(yarn("").original, 4096);
  EXPECT_EQ(yarn("").beta_fast, 32);
  EXPECT_EQ(yarn("").beta_slow, 1);
  EXPECT_TRUE(yarn("").truncate);
  EXPECT_NEAR(yarn("").magnitude, usual, 1e-15);
  EXPECT_EQ(yarn(R"(, "mscale": 1.0, "mscale_all_dim": 1.0)").magnitude, 1.0);
  EXPECT_NEAR(yarn(R"(, "mscale": 0.707, "mscale_all_dim": 1.0)").magnitude,
              (0.0707 * std::log(40.0) + 1) / usual, 1e-15);
  EXPECT_NEAR(yarn(R"(, "mscale": 0.707, "mscale_all_dim": 0)").magnitude, usual, 1e-15);
  EXPECT_EQ(yarn(R"(, "attention_factor": 1.25, "mscale": 1, "mscale_all_dim": 2)").magnitude,
            1.25);
  EXPECT_FALSE(yarn(R"(, "truncate": false)").truncate);
  EXPECT_EQ(yarn(R"(, "beta_fast": 20, "beta_slow": 2)").beta_fast, 20);
  EXPECT_EQ(yarn(R"(, "beta_fast": 20, "beta_slow": 2)").beta_slow, 2);
}

TEST(RopeConfig, ErrorsNameKeyAndValue) {
  const auto error = [](const std::string& json, index_t width = 64) {
    return build::error_of([&] { rule(json, width); });
  };
  EXPECT_TRUE(build::says(error(R"({"rope_scaling": {"type": "ntk", "factor": 2}})"),
                          "config.json: rope_scaling: type is \"ntk\", supported: default, "
                          "linear, dynamic, llama3, yarn"));
  EXPECT_TRUE(
      build::says(error(R"({"max_position_embeddings": 64, "original_max_position_embeddings": 16,
                "rope_scaling": {"type": "longrope", "short_factor": [1, 1], "long_factor": [1]}})",
                        4),
                  "rope_scaling: long_factor has 1 numbers, expected 2"));
  EXPECT_TRUE(build::says(error(R"({"rope_parameters": {"rope_type": "xpos"}})"),
                          "rope_parameters: rope_type is \"xpos\""));
  EXPECT_TRUE(build::says(error(R"({"rope_scaling": {"type": "linear"}})"),
                          "rope_scaling: has no key \"factor\""));
  EXPECT_TRUE(build::says(error(R"({"rope_scaling": {"type": "linear", "factor": 0}})"),
                          "rope_scaling: factor is 0, expected"));
  EXPECT_TRUE(build::says(error(R"({"rope_scaling": {"type": "llama3", "factor": 8}})"),
                          "has no key \"max_position_embeddings\""));
  EXPECT_TRUE(build::says(
      error(R"({"max_position_embeddings": 64, "rope_scaling": {"type": "llama3", "factor": 8,
              "low_freq_factor": 4, "high_freq_factor": 4}})"),
      "low_freq_factor is 4, expected below high_freq_factor 4"));
  EXPECT_TRUE(build::says(error(R"({"rope_scaling": {"type": "linear", "factor": 1e-310}})"),
                          "gives a frequency of inf"));
  EXPECT_TRUE(build::says(error(R"({"rope_scaling": "linear"})"), "rope_scaling: expected an obj"));
  EXPECT_TRUE(build::says(error(R"({"rope_theta": -1.0})"), "rope_theta is -1, expected"));
  EXPECT_TRUE(build::says(error("{}", 63), "rotary positions of 63 elements"));
}

TEST(RopeConfig, AFamilyTurnsWholeHeadsOrAShare) {
  const RopeKeys half{.partial = 0.5};
  const std::string key = R"({"partial_rotary_factor": 0.25})";
  EXPECT_EQ(rule("{}", 64, half).width, 32);
  EXPECT_EQ(rule(key, 64, half).width, 16);
  // The object of the rule comes before the key beside it.
  EXPECT_EQ(rule(R"({"partial_rotary_factor": 0.25,
                     "rope_parameters": {"partial_rotary_factor": 0.75}})",
                 64, half)
                .width,
            48);
  // Others do not look at it, unless the rule is one that would give fewer angles than elements.
  EXPECT_EQ(rule(key).width, 64);
  EXPECT_EQ(rule(R"({"rope_parameters": {"partial_rotary_factor": 0.25}})").width, 64);
  const auto error = [](const std::string& json) { return build::error_of([&] { rule(json); }); };
  EXPECT_TRUE(build::says(error(R"({"rope_parameters": {"rope_type": "linear", "factor": 2,
                                    "partial_rotary_factor": 0.25}})"),
                          "rope_parameters: partial_rotary_factor is 0.25, supported: 1, with "
                          "rope_type linear"));
  EXPECT_EQ(rule(R"({"rope_parameters": {"rope_type": "proportional", "rope_theta": 9.0,
                     "partial_rotary_factor": 0.25}})"),
            (RopeRule{9.0, 64, rules::Proportional{8}}));
}

TEST(RopeConfig, AShareIsCutToWholeElementsAndOddOnesTurnWithTheNext) {
  const RopeKeys neox{.partial = 0.25, .rounds_up = true, .partial_key = "rotary_pct"};
  EXPECT_EQ(rule(R"({"rotary_pct": 0.34})", 12, neox).width, 4);   // 4.08
  const RopeRule odd = rule(R"({"rotary_pct": 0.45})", 12, neox);  // 5.4
  EXPECT_EQ(odd.width, 6);
  EXPECT_EQ(odd.shares, 5);
  const auto frequencies = odd.frequencies().inverse;
  ASSERT_EQ(frequencies.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(frequencies[i], std::pow(10000.0, -2.0 * static_cast<double>(i) / 5));
  EXPECT_EQ(rule(R"({"rotary_pct": 0.05})", 12, neox).width, 0);
  // Where the elements are counted exactly there is no other one.
  const auto error = [](const std::string& json, index_t head, const RopeKeys& keys) {
    return build::error_of([&] { rule(json, head, keys); });
  };
  EXPECT_TRUE(build::says(error(R"({"partial_rotary_factor": 0.45})", 12, {.partial = 0.5}),
                          "config.json: partial_rotary_factor is 0.45: rotary positions of 5 "
                          "elements of a head of 12, expected an even number"));
  EXPECT_TRUE(build::says(error(R"({"rotary_pct": 1})", 13, neox),
                          "rotary_pct is 1: rotary positions of 13 elements"));
  EXPECT_TRUE(build::says(
      error(R"({"rope_scaling": {"type": "yarn", "factor": 2, "partial_rotary_factor": 0.45},
                "max_position_embeddings": 8})",
            12, neox),
      "rope_scaling: partial_rotary_factor is 0.45: rotary positions of 5 elements"));
  EXPECT_TRUE(build::says(error(R"({"rotary_pct": 1.01})", 12, neox), "rotary_pct is 1.01, exp"));
}

TEST(RopeConfig, AbsentPositionsAreTheFamilys) {
  const std::string dynamic = R"({"rope_scaling": {"type": "dynamic", "factor": 2.0}})";
  EXPECT_EQ(rule(dynamic, 8, {.positions = 4096}), (RopeRule{10000.0, 8, rules::Dynamic{2, 4096}}));
  const std::string longrope = R"("short_factor": [1, 2], "long_factor": [3, 4]}})";
  const RopeKeys phi3{.partial = 1.0, .positions = 4096, .trained = 4096, .longrope_only = true};
  // What Phi-3 has called su and yarn is LongRoPE; its trained context stands beside the rule.
  for (const std::string type : {"longrope", "su", "yarn"}) {
    const RopeRule r = rule(R"({"max_position_embeddings": 131072, "rope_scaling": {"type": ")" +
                                type + R"(", "original_max_position_embeddings": 7, )" + longrope,
                            4, phi3);
    EXPECT_EQ(
        r, (RopeRule{10000.0, 4, rules::LongRope{{1, 2}, {3, 4}, 4096, std::sqrt(1 + 5.0 / 12)}}))
        << type;  // 131072 / 4096 = 2^5, 4096 = 2^12
  }
  EXPECT_TRUE(build::says(build::error_of([&] {
                            rule(R"({"rope_scaling": {"type": "linear", "factor": 2}})", 4, phi3);
                          }),
                          "type is \"linear\", supported: default, longrope, su, yarn"));
}

/// The message for a golden configuration with one key changed.
template <class Family>
std::string error_with(const std::string& golden, const std::string& key,
                       const std::string& value) {
  const TemporaryFolder folder;
  Model m = Model::golden(golden);
  m.config[key] = value;
  m.write(folder.path());
  return build::error_of([&] { Family::config(Checkpoint(folder.path())); });
}

template <class Family>
void expect_size_errors(const std::string& golden, std::initializer_list<const char*> keys) {
  for (const std::string key : keys) {
    for (const char* value : {"0", "-3", "1099511627776"})
      EXPECT_TRUE(build::says(error_with<Family>(golden, key, value),
                              "config.json: " + key + " is " + value + ", expected 1 to "));
    for (const auto& [value, got] :
         {std::pair{"2.5", "a decimal number"}, std::pair{"1e300", "a decimal number"},
          std::pair{"99999999999999999999", "a decimal number"}, std::pair{"\"4\"", "a string"},
          std::pair{"true", "a boolean"}, std::pair{"[4]", "an array"}})
      EXPECT_TRUE(
          build::says(error_with<Family>(golden, key, value),
                      "config.json: " + key + " is " + got + ", expected a 64-bit integer"));
  }
}

TEST(LlamaConfig, NumbersOutOfRangeNameKeyAndValue) {
  expect_size_errors<LlamaFamily>(
      "llama2",
      {"hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
       "vocab_size", "max_position_embeddings", "num_hidden_layers"});
  const auto error = [](const char* key, const char* value) {
    return error_with<LlamaFamily>("llama3", key, value);
  };
  EXPECT_TRUE(build::says(error("num_key_value_heads", "4"),
                          "num_key_value_heads is 4, expected a divisor of num_attention_heads 6"));
  EXPECT_TRUE(build::says(error("num_hidden_layers", "2147483648"), "expected 1 to 10000"));
  EXPECT_TRUE(build::says(error("head_dim", "13"), "rotary positions of 13 elements"));
  for (const char* eps : {"0", "-1e-5", "NaN", "Infinity"})
    EXPECT_TRUE(build::says(error("rms_norm_eps", eps), "rms_norm_eps is "));
  EXPECT_TRUE(
      build::says(error("hidden_act", "\"gelu\""), "hidden_act is \"gelu\", supported: silu"));
  EXPECT_TRUE(build::says(error("tie_word_embeddings", "1"), "tie_word_embeddings is an integer"));
}

TEST(LlamaConfig, DefaultsOfAbsentKeys) {
  const TemporaryFolder folder;
  Model m = Model::golden("llama2");
  for (const char* key : {"num_key_value_heads", "head_dim", "rms_norm_eps", "rope_parameters",
                          "max_position_embeddings", "tie_word_embeddings", "attention_bias",
                          "mlp_bias", "hidden_act"})
    m.config[key] = "null";
  m.write(folder.path());
  const auto c = LlamaFamily::config(Checkpoint(folder.path()));
  const auto& layer = c.layers.at(0);
  EXPECT_EQ(layer.dims.n_kv_heads, 6);
  EXPECT_EQ(layer.dims.head_dim, 6);
  EXPECT_EQ(layer.norm.eps, 1e-6f);
  EXPECT_EQ(layer.mixer.position.rule, (RopeRule{10000.0, 6, {}}));
  EXPECT_EQ(c.context_length, 2048);
  EXPECT_FALSE(c.tied_head || layer.mixer.bias.q || layer.mixer.bias.out || layer.ffn.bias);
}

TEST(Gpt2Config, NumbersOutOfRangeNameKeyAndValue) {
  expect_size_errors<Gpt2Family>(
      "gpt2", {"n_embd", "n_head", "n_inner", "vocab_size", "n_positions", "n_layer"});
  const auto error = [](const char* key, const char* value) {
    return error_with<Gpt2Family>("gpt2", key, value);
  };
  EXPECT_TRUE(build::says(error("n_head", "5"), "n_embd is 36, expected a multiple of n_head 5"));
  EXPECT_TRUE(build::says(error("n_layer", "2147483648"), "expected 1 to 10000"));
  EXPECT_TRUE(build::says(error("layer_norm_epsilon", "0"), "layer_norm_epsilon is 0"));
  EXPECT_TRUE(build::says(error("activation_function", "\"mish\""),
                          "activation_function is \"mish\", supported: silu, swish"));
  EXPECT_TRUE(build::says(error("add_cross_attention", "true"), "add_cross_attention is \"true\""));
}

}  // namespace
}  // namespace models_test
