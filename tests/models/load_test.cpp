// The same model from every form of checkpoint: one file or shards, either form of the names and of
// the configuration, a folder or a GGUF file.
#include <gtest/gtest.h>

#include <ashlar/backend/scalar.hpp>

#include "golden/model_run.hpp"
#include "golden/oracle_model.hpp"
#include "model_files.hpp"
#include "oracle/rope.hpp"
#include "support/compare.hpp"
#include "support/random.hpp"

namespace models_test {
namespace {

using golden::Ids;
using golden::IdsView;

constexpr index_t B = 2, T = 9;

Ids prompt() {
  Ids ids;
  for (index_t i = 0; i < B * T; ++i) ids.push_back(static_cast<std::int32_t>(i * 37 % 101));
  return ids;
}

Floats logits(const std::string& path) {
  const auto lm = golden::Families::load<ashlar::backend::ScalarCpu>(path);
  const Ids ids = prompt();
  lm->start(B, T);
  return golden::head(*lm, golden::forward(*lm, IdsView(ids.data(), {B, T})));
}
Floats logits(const Model& m) {
  const TemporaryFolder folder;
  m.write(folder.path());
  return logits(folder.path());
}
Floats golden_logits(const std::string& name) {
  return logits(std::string(ASHLAR_TEST_DATA) + "/decoder/" + name);
}

/// The folder's tensors in two shards and their index.
void write_shards(const Model& m, const std::string& folder) {
  m.write_config(folder);
  Tensors part[2];
  Config map;
  for (const auto& [name, tensor] : m.tensors) {
    const std::size_t shard = map.size() % 2;
    part[shard][name] = tensor;
    map[name] = shard ? "\"b.safetensors\"" : "\"a.safetensors\"";
  }
  Model::write_tensors(folder + "/a.safetensors", part[0]);
  Model::write_tensors(folder + "/b.safetensors", part[1]);
  write_file(folder + "/model.safetensors.index.json", "{\"weight_map\": " + text_of(map) + "}");
}

TEST(Load, ShardsGiveTheBitsOfOneFile) {
  for (const char* name : {"llama3", "gpt2"}) {
    const TemporaryFolder folder;
    write_shards(Model::golden(name), folder.path());
    EXPECT_TRUE(support::same_bits(logits(folder.path()), golden_logits(name))) << name;
  }
}

/// Files of a model that calls itself tied may hold the head again, or one of its own.
TEST(Load, AHeadOfItsOwnIsUsedThoughTheConfigTies) {
  const TemporaryFolder folder;
  Model m = Model::golden("gpt2");
  m.tensors["lm_head.weight"] = m.tensors.at("transformer.wte.weight");
  EXPECT_TRUE(support::same_bits(logits(m), golden_logits("gpt2")));  // a copy: tied
  for (float& x : m.tensors.at("lm_head.weight").values) x *= 2;
  Floats twice = golden_logits("gpt2");
  for (float& x : twice) x *= 2;
  EXPECT_TRUE(support::same_bits(logits(m), twice));
}

TEST(Load, DataMayBeginAtAnyByte) {
  for (const char* name : {"llama3", "gpt2"}) {
    const TemporaryFolder folder;
    Model::golden(name).write(folder.path());
    const std::string path = folder / "model.safetensors", bytes = read_file(path);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    for (const std::size_t shift : {1u, 2u, 3u}) {
      const auto data = bytes.substr(8 + static_cast<std::size_t>(length));
      const std::string header = bytes.substr(8, static_cast<std::size_t>(length));
      write_file(path, build::safetensors(header + std::string(shift, ' '), data));
      EXPECT_TRUE(support::same_bits(logits(folder.path()), golden_logits(name))) << name;
    }
  }
}

TEST(Load, Gpt2WithoutPrefixAndWithMaskBuffers) {
  for (const char* name : {"gpt2", "gpt2_layer_scale"}) {
    Model m = Model::golden(name);
    Tensors bare;
    for (const auto& [stored, tensor] : m.tensors)
      bare[stored.starts_with("transformer.") ? stored.substr(12) : stored] = tensor;
    ASSERT_TRUE(bare.count("wte.weight"));
    bare["h.0.attn.bias"] = {{1, 1, 4, 4}, Floats(16, 1.f)};
    bare["h.0.attn.masked_bias"] = {{}, {-1e4f}};
    m.tensors = bare;
    EXPECT_TRUE(support::same_bits(logits(m), golden_logits(name))) << name;
  }
}

TEST(Load, AStoredCopyOfATiedHeadIsTheTable) {
  for (const char* name : {"llama_linear", "gpt2"}) {
    Model m = Model::golden(name);
    ASSERT_FALSE(m.tensors.count("lm_head.weight"));
    m.tensors["lm_head.weight"] =
        m.tensors.at(m.tensors.count("model.norm.weight") ? "model.embed_tokens.weight"
                                                          : "transformer.wte.weight");
    if (m.tensors.count("model.norm.weight"))
      m.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {{6}, Floats(6, NAN)};
    EXPECT_TRUE(support::same_bits(logits(m), golden_logits(name))) << name;
  }
}

TEST(Load, ErrorsListEveryTensorThatDoesNotFit) {
  Model m = Model::golden("llama3");
  m.tensors.erase("lm_head.weight");
  m.tensors.erase("model.layers.1.mlp.up_proj.weight");
  m.tensors["model.layers.3.mlp.up_proj.weight"] = {{60, 36}, Floats(60 * 36)};
  m.tensors["model.norm.weight"] = {{35}, Floats(35)};
  m.tensors["model.layers.2.self_attn.k_proj.weight"] = {{36, 24}, Floats(36 * 24)};
  const std::string error = build::error_of([&] { logits(m); });
  EXPECT_TRUE(build::says(error, "\n  missing: model.layers.1.mlp.up_proj.weight, lm_head.weight"));
  EXPECT_TRUE(build::says(error, "\n  not expected: model.layers.3.mlp.up_proj.weight\n"));
  EXPECT_TRUE(build::says(error,
                          "\n  wrong: model.layers.2.self_attn.k_proj.weight has shape [36, 24], "
                          "expected [24, 36], model.norm.weight has shape [35], expected [36]"));
}

TEST(Load, TheOlderFormOfTheRotaryRuleGivesTheSameBits) {
  for (const char* name : {"llama2", "llama3", "llama_dynamic", "llama_linear", "llama_yarn"})
    for (const char* key : {"type", "rope_type"}) {
      Model m = Model::golden(name);
      const auto newer = ashlar::Json::parse(m.config.at("rope_parameters"), name);
      Config older;
      for (const auto& member : newer.members()) older[member.name] = text_of(member.value);
      m.config["rope_theta"] = older.at("rope_theta");
      older.erase("rope_theta");
      const std::string type = older.at("rope_type");
      older.erase("rope_type");
      older[key] = type;
      m.config["rope_scaling"] = type == "\"default\"" ? "null" : text_of(older);
      m.config.erase("rope_parameters");
      EXPECT_TRUE(support::same_bits(logits(m), golden_logits(name))) << name << ", " << key;
    }
}

/// Biases, which no golden Llama has, against the oracle in double.
TEST(Load, LlamaWithBiases) {
  Model m = Model::golden("llama2");
  support::Random random(5);
  for (const auto& [stored, tensor] : Model(m).tensors)
    if (stored.ends_with("_proj.weight"))
      m.tensors[stored.substr(0, stored.size() - 6) + "bias"] = {
          {tensor.shape[0]}, random.normals<float>(tensor.shape[0], 0.2)};
  m.config["attention_bias"] = m.config["mlp_bias"] = "true";
  const TemporaryFolder folder;
  m.write(folder.path());
  const Ids ids = prompt();
  ashlar::write_safetensors(
      folder / "expected.safetensors",
      {ashlar::describe_tensor("input_ids", {B, T}, std::span<const std::int32_t>(ids))});
  const auto exact = golden::by_oracle::run_llama(golden::ModelCase(folder.path())).logits;
  EXPECT_TRUE(support::all_close_to_largest(logits(folder.path()), exact, 2e-5));
  EXPECT_FALSE(support::all_close_to_largest(golden_logits("llama2"), exact, 1e-2));
}

/// Rows of each head so that halves become neighbours, as GGUF files have them.
Tensor interleaved(const Tensor& half_split, index_t head_dim) {
  Tensor t = half_split;
  const index_t columns = t.shape[1];
  for (index_t first = 0; first < t.shape[0]; first += head_dim)
    for (index_t i = 0; i < head_dim / 2; ++i)
      for (const index_t half : {0, 1})
        for (index_t k = 0; k < columns; ++k)
          t.values[at((first + 2 * i + half) * columns + k)] =
              half_split.values[at((first + half * (head_dim / 2) + i) * columns + k)];
  return t;
}

/// A Llama in the names, keys and order of rows of a GGUF file.
struct GgufModel : GgufParts {
  explicit GgufModel(const Model& m) {
    const auto integer = [&](const char* key) { return std::stoll(m.config.at(key)); };
    const auto json = ashlar::Json::parse(m.config.at("rope_parameters"), "rope");
    const index_t head_dim = integer("head_dim");
    strings["general.architecture"] = "llama";
    integers = {{"llama.embedding_length", integer("hidden_size")},
                {"llama.attention.head_count", integer("num_attention_heads")},
                {"llama.attention.head_count_kv", integer("num_key_value_heads")},
                {"llama.attention.key_length", head_dim},
                {"llama.attention.value_length", head_dim},
                {"llama.feed_forward_length", integer("intermediate_size")},
                {"llama.context_length", integer("max_position_embeddings")},
                {"llama.rope.dimension_count", head_dim},
                {"llama.block_count", integer("num_hidden_layers")},
                {"llama.vocab_size", integer("vocab_size")}};
    numbers = {{"llama.attention.layer_norm_rms_epsilon", std::stod(m.config.at("rms_norm_eps"))},
               {"llama.rope.freq_base", json.at("rope_theta").as_number()}};
    const std::map<std::string, std::string> names = {{"model.embed_tokens", "token_embd"},
                                                      {"model.norm", "output_norm"},
                                                      {"lm_head", "output"},
                                                      {"input_layernorm", "attn_norm"},
                                                      {"post_attention_layernorm", "ffn_norm"},
                                                      {"self_attn.q_proj", "attn_q"},
                                                      {"self_attn.k_proj", "attn_k"},
                                                      {"self_attn.v_proj", "attn_v"},
                                                      {"self_attn.o_proj", "attn_output"},
                                                      {"mlp.gate_proj", "ffn_gate"},
                                                      {"mlp.up_proj", "ffn_up"},
                                                      {"mlp.down_proj", "ffn_down"}};
    for (const auto& [stored, tensor] : m.tensors) {
      std::string base = stored.substr(0, stored.rfind('.')), prefix;
      if (base.starts_with("model.layers.")) {
        const auto dot = base.find('.', 13);
        prefix = "blk." + base.substr(13, dot - 13) + ".";
        base = base.substr(dot + 1);
      }
      const bool rotated = base == "self_attn.q_proj" || base == "self_attn.k_proj";
      tensors[prefix + names.at(base) + ".weight"] =
          rotated ? interleaved(tensor, head_dim) : tensor;
    }
  }
  Floats logits() const {
    const TemporaryFolder folder;
    write(folder / "model.gguf");
    return models_test::logits(folder / "model.gguf");
  }
  std::string error() const {
    return build::error_of([&] { logits(); });
  }
};

TEST(LoadGguf, IsTheModelOfTheFolder) {
  const GgufModel file(Model::golden("llama2"));
  EXPECT_TRUE(support::all_close_to_largest(file.logits(), golden_logits("llama2"), 1e-6));
}

TEST(LoadGguf, KeysThatHaveDefaults) {
  GgufModel file(Model::golden("llama2"));
  const Floats all = file.logits();
  for (const char* key :
       {"llama.attention.key_length", "llama.attention.value_length", "llama.rope.dimension_count",
        "llama.vocab_size", "llama.attention.head_count_kv"})
    ASSERT_EQ(file.integers.erase(key), 1u) << key;
  EXPECT_TRUE(support::same_bits(file.logits(), all));
}

TEST(LoadGguf, TiedHeadAndLinearScaling) {
  const Model m = Model::golden("llama_linear");
  GgufModel file(m);
  ASSERT_FALSE(file.tensors.count("output.weight"));
  file.strings["llama.rope.scaling.type"] = "linear";
  file.numbers["llama.rope.scaling.factor"] =
      ashlar::Json::parse(m.config.at("rope_parameters"), "rope").at("factor").as_number();
  EXPECT_TRUE(support::all_close_to_largest(file.logits(), golden_logits("llama_linear"), 1e-6));
}

TEST(LoadGguf, DivisorsOfTheFrequencies) {
  const Model m = Model::golden("llama3");
  GgufModel file(m);
  const auto rope = ashlar::Json::parse(m.config.at("rope_parameters"), "rope");
  const auto number = [&](const char* key) { return rope.at(key).as_number(); };
  const double theta = number("rope_theta");
  const auto plain = oracle::rope_table(theta, 12, 12);
  oracle::RopeScaling rule;
  rule.kind = oracle::Scaling::llama3;
  rule.factor = number("factor");
  rule.original = number("original_max_position_embeddings");
  rule.low = number("low_freq_factor");
  rule.high = number("high_freq_factor");
  const auto scaled = oracle::rope_table(theta, 12, 12, rule);
  Floats divisors;
  for (std::size_t i = 0; i < 6; ++i)
    divisors.push_back(
        static_cast<float>(plain.inverse_frequencies[i] / scaled.inverse_frequencies[i]));
  EXPECT_FALSE(support::all_close_to_largest(file.logits(), golden_logits("llama3"), 1e-4));
  file.tensors["rope_freqs.weight"] = {{6}, divisors};
  EXPECT_TRUE(support::all_close_to_largest(file.logits(), golden_logits("llama3"), 2e-6));

  file.tensors["rope_freqs.weight"] = {{7}, Floats(7, 1.f)};
  EXPECT_TRUE(build::says(file.error(), "rope_freqs.weight has 7 elements, expected 6"));
  file.tensors["rope_freqs.weight"] = {{6}, Floats(6, 0.f)};
  EXPECT_TRUE(build::says(file.error(), "rope_freqs.weight holds 0, expected"));
}

TEST(LoadGguf, NumbersOutOfRangeNameKeyAndValue) {
  const GgufModel good(Model::golden("llama2"));
  const auto integer_error = [&](const char* key, std::int64_t value) {
    GgufModel file = good;
    file.integers.at(key) = value;
    return file.error();
  };
  for (const char* key :
       {"llama.embedding_length", "llama.attention.head_count", "llama.attention.head_count_kv",
        "llama.attention.key_length", "llama.attention.value_length", "llama.feed_forward_length",
        "llama.context_length", "llama.rope.dimension_count", "llama.block_count",
        "llama.vocab_size"}) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-4}, std::int64_t{1} << 40})
      EXPECT_TRUE(build::says(integer_error(key, value),
                              std::string(key) + " is " + std::to_string(value) + ", expected"));
    GgufModel file = good;
    file.integers.erase(key);
    file.numbers[key] = 2.5;
    EXPECT_TRUE(build::says(file.error(), std::string(key) + "\" is"));
  }
  EXPECT_TRUE(build::says(integer_error("llama.attention.head_count_kv", 4),
                          "llama.attention.head_count_kv is 4, expected a divisor of "
                          "llama.attention.head_count 6"));
  EXPECT_TRUE(build::says(integer_error("llama.rope.dimension_count", 5),
                          "llama.rope.dimension_count is 5, expected an even number"));
  for (const char* key : {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base"})
    for (const double value : {0.0, -1.0, HUGE_VAL}) {
      GgufModel file = good;
      file.numbers.at(key) = value;
      EXPECT_TRUE(build::says(file.error(), std::string(key) + " is "));
    }
  GgufModel file = good;
  file.strings["llama.rope.scaling.type"] = "yarn";
  try {
    file.logits();
    FAIL();
  } catch (const golden::Unsupported& refused) {
    EXPECT_TRUE(build::says(refused.reason,
                            "llama.rope.scaling.type is \"yarn\", supported: none, linear"));
  }
}

}  // namespace
}  // namespace models_test
