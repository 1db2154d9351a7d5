// Families in GGUF files: the tensors of a golden folder under the other names, with rows and gains
// as the public conversion writes them, give the folder's logits.
#include <gtest/gtest.h>

#include "golden/model_run.hpp"
#include "model_files.hpp"
#include "support/compare.hpp"

namespace models_test {
namespace {

using namespace ashlar;

Floats logits(const std::string& path) {
  examples::ProgressLine progress("", true);
  const auto lm = examples::load_any_family(Checkpoint(path), "simd", {}, progress);
  constexpr index_t B = 2, T = 13;
  golden::Ids ids;
  for (index_t i = 0; i < B * T; ++i) ids.push_back(static_cast<std::int32_t>(3 + i * 37 % 90));
  lm->start(B, T);
  return golden::head(*lm, golden::forward(*lm, golden::IdsView(ids.data(), {B, T})));
}

struct GgufCase {
  const char *golden, *architecture;
  std::vector<std::pair<const char*, const char*>> changes{};  // of what GGUF has no key for
  std::map<std::string, double> numbers{};                     // keys under the architecture
  std::map<std::string, std::int64_t> integers{};
  bool neighbours = false;  // rows of q and k are stored so that neighbours turn together
  bool plus_one = false;    // 1 + w is stored
  bool linear = false;      // rope.scaling.type
  const char* norm_before_ffn = "ffn_norm";  // GGUF's name of post_attention_layernorm
};

/// Rows of each head so that halves become neighbours.
Tensor with_neighbours(const Tensor& halves, index_t head_dim) {
  Tensor t = halves;
  const index_t columns = t.shape.size() > 1 ? t.shape[1] : 1, half = head_dim / 2;
  for (index_t row = 0; row < t.shape[0]; ++row) {
    const index_t in_head = row % head_dim;
    const index_t from = row - in_head + in_head % 2 * half + in_head / 2;
    for (index_t k = 0; k < columns; ++k)
      t.values[at(row * columns + k)] = halves.values[at(from * columns + k)];
  }
  return t;
}

GgufParts gguf_of(const Model& m, const GgufCase& c) {
  const auto json = [&](const char* key) {
    return ashlar::Json::parse(m.config.count(key) ? m.config.at(key) : "null", key);
  };
  const auto integer = [&](const char* key) { return json(key).as_int(key); };
  const index_t heads = integer("num_attention_heads"), width = integer("hidden_size");
  const index_t head_dim = json("head_dim").is_null() ? width / heads : integer("head_dim");
  GgufParts file;
  const std::string prefix = std::string(c.architecture) + ".";
  file.strings["general.architecture"] = c.architecture;
  file.integers = {{prefix + "embedding_length", width},
                   {prefix + "attention.head_count", heads},
                   {prefix + "attention.head_count_kv", integer("num_key_value_heads")},
                   {prefix + "attention.key_length", head_dim},
                   {prefix + "attention.value_length", head_dim},
                   {prefix + "feed_forward_length", integer("intermediate_size")},
                   {prefix + "context_length", integer("max_position_embeddings")},
                   {prefix + "block_count", integer("num_hidden_layers")}};
  for (const char* key : {"rms_norm_eps", "layer_norm_eps"})
    if (m.config.count(key))
      file.numbers[prefix + (key[0] == 'r' ? "attention.layer_norm_rms_epsilon"
                                           : "attention.layer_norm_epsilon")] =
          json(key).as_number(key);
  const auto rope = json("rope_parameters");
  const auto* full = rope.find("full_attention");
  file.numbers[prefix + "rope.freq_base"] = (full ? *full : rope).at("rope_theta").as_number();
  if (c.linear) {
    file.strings[prefix + "rope.scaling.type"] = "linear";
    file.numbers[prefix + "rope.scaling.factor"] = (full ? *full : rope).at("factor").as_number();
  }
  for (const auto& [key, value] : c.numbers) file.numbers[prefix + key] = value;
  for (const auto& [key, value] : c.integers) file.integers[prefix + key] = value;

  const std::map<std::string, std::string> names = {
      {"model.embed_tokens", "token_embd"},
      {"model.norm", "output_norm"},
      {"lm_head", "output"},
      {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", c.norm_before_ffn},
      {"pre_feedforward_layernorm", "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
      {"post_self_attn_layernorm", "post_attention_norm"},
      {"post_mlp_layernorm", "post_ffw_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.gate_up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"}};
  for (const auto& [stored, tensor] : m.tensors) {
    const auto dot = stored.rfind('.');
    std::string base = stored.substr(0, dot), block;
    if (base.starts_with("model.layers.")) {
      const auto end = base.find('.', 13);
      block = "blk." + base.substr(13, end - 13) + ".";
      base = base.substr(end + 1);
    }
    Tensor t = tensor;
    if (c.neighbours && (base == "self_attn.q_proj" || base == "self_attn.k_proj"))
      t = with_neighbours(tensor, head_dim);
    if (c.plus_one && base.ends_with("norm"))
      for (float& x : t.values) x += 1;
    file.tensors[block + names.at(base) + stored.substr(dot)] = t;
  }
  return file;
}

void expect_same_model(const GgufCase& c) {
  SCOPED_TRACE(c.golden);
  const TemporaryFolder folder;
  Model m = Model::golden(c.golden);
  for (const auto& [key, value] : c.changes) m.config[key] = value;
  for (const auto& [key, part] :
       {std::pair{"attention_bias", "self_attn."}, std::pair{"mlp_bias", "mlp."}})
    if (m.config.count(key) && m.config.at(key) == "false")
      std::erase_if(m.tensors, [part = std::string(part)](const auto& entry) {
        return entry.first.find(part) != std::string::npos && entry.first.ends_with("_proj.bias");
      });
  m.write(folder.path());
  gguf_of(m, c).write(folder / "model.gguf");
  const Floats expected = logits(folder.path());
  EXPECT_TRUE(support::all_close_to_largest(logits(folder / "model.gguf"), expected, 2e-6));
}

TEST(GgufFamilies, Gemmas) {
  expect_same_model({.golden = "gemma", .architecture = "gemma", .plus_one = true});
  expect_same_model({.golden = "gemma2",
                     .architecture = "gemma2",
                     .changes = {{"query_pre_attn_scalar", "12"}},
                     .numbers = {{"attn_logit_softcapping", 2.5}, {"final_logit_softcapping", 3.5}},
                     .integers = {{"attention.sliding_window", 6}},
                     .plus_one = true,
                     .norm_before_ffn = "post_attention_norm"});
  expect_same_model(
      {.golden = "gemma3",
       .architecture = "gemma3",
       .changes =
           {{"query_pre_attn_scalar", "10"},
            {"rope_parameters",
             R"({"full_attention": {"rope_type": "linear", "rope_theta": 9000.0, "factor": 4},
                        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})"}},
       .integers = {{"attention.sliding_window", 5}},
       .plus_one = true,
       .linear = true,
       .norm_before_ffn = "post_attention_norm"});
}

TEST(GgufFamilies, RowsAsInLlamasFiles) {
  expect_same_model({.golden = "granite",
                     .architecture = "granite",
                     .numbers = {{"attention.scale", 0.3},
                                 {"residual_scale", 0.6},
                                 {"embedding_scale", 3},
                                 {"logit_scale", 1.7}},
                     .neighbours = true});
  expect_same_model({.golden = "smollm3", .architecture = "smollm3", .neighbours = true});
  expect_same_model({.golden = "olmo",
                     .architecture = "olmo",
                     .numbers = {{"attention.clamp_kqv", 0.9}},
                     .neighbours = true});
  expect_same_model({.golden = "arcee",
                     .architecture = "arcee",
                     .changes = {{"mlp_bias", "false"}},
                     .neighbours = true});
}

TEST(GgufFamilies, RowsAsTheyAre) {
  expect_same_model(
      {.golden = "olmo2", .architecture = "olmo2", .norm_before_ffn = "post_attention_norm"});
  expect_same_model({.golden = "exaone4",
                     .architecture = "exaone4",
                     .integers = {{"attention.sliding_window", 6}},
                     .norm_before_ffn = "post_attention_norm"});
  expect_same_model(
      {.golden = "cohere", .architecture = "command-r", .numbers = {{"logit_scale", 0.6}}});
  expect_same_model({.golden = "cohere_qk_norm",
                     .architecture = "command-r",
                     .changes = {{"attention_bias", "false"}},
                     .numbers = {{"logit_scale", 0.6}}});
  expect_same_model({.golden = "cohere2",
                     .architecture = "cohere2",
                     .numbers = {{"logit_scale", 0.6}},
                     .integers = {{"attention.sliding_window", 6}}});
  expect_same_model(
      {.golden = "glm4", .architecture = "glm4", .integers = {{"rope.dimension_count", 8}}});
}

}  // namespace
}  // namespace models_test
