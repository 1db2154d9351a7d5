// What the golden cases of GPT-2 and its kin cannot show: older forms of their configurations,
// other names, defaults, and what is refused.
#include <gtest/gtest.h>

#include <ashlar/models/presets/bloom.hpp>
#include <ashlar/models/presets/falcon.hpp>
#include <ashlar/models/presets/mpt.hpp>
#include <ashlar/models/presets/nemotron.hpp>
#include <ashlar/models/presets/opt.hpp>
#include <ashlar/models/presets/phi.hpp>
#include <ashlar/models/presets/phi3.hpp>
#include <ashlar/models/presets/stablelm.hpp>
#include <ashlar/models/presets/starcoder2.hpp>

#include "golden/model_run.hpp"
#include "model_files.hpp"
#include "support/compare.hpp"

namespace models_test {
namespace {

using namespace ashlar;

constexpr index_t B = 2, T = 9;

Floats logits(const std::string& path) {
  examples::ProgressLine progress("", true);
  const auto lm = examples::load_any_family(Checkpoint(path), "scalar", {}, progress);
  golden::Ids ids;
  for (index_t i = 0; i < B * T; ++i) ids.push_back(static_cast<std::int32_t>(i * 37 % 101));
  lm->start(B, T);
  return golden::head(*lm, golden::forward(*lm, golden::IdsView(ids.data(), {B, T})));
}
Floats logits(const Model& m) {
  const TemporaryFolder folder;
  m.write(folder.path());
  return logits(folder.path());
}
Floats golden_logits(const std::string& name) {
  return logits(std::string(ASHLAR_TEST_DATA) + "/decoder/" + name);
}
std::string error(const Model& m) {
  return build::error_of([&] { logits(m); });
}

/// Changes of a golden configuration; an empty value takes the key away.
using Changes = std::vector<std::pair<const char*, const char*>>;
Model changed(const std::string& name, const Changes& changes) {
  Model m = Model::golden(name);
  for (const auto& [key, value] : changes)
    if (*value)
      m.config[key] = value;
    else
      EXPECT_EQ(m.config.erase(key), 1u) << name << ", " << key;
  return m;
}

struct OlderForm {
  const char* name;
  Changes changes;
};

TEST(GptFamilies, OlderFormsOfTheConfigurationGiveTheSameBits) {
  const std::vector<OlderForm> forms = {
      {"gpt_neox", {{"rope_parameters", ""}, {"rotary_pct", "0.34"}, {"rotary_emb_base", "700"}}},
      {"gpt_neox_serial",
       {{"rope_parameters", ""}, {"rotary_pct", "1.0"}, {"rotary_emb_base", "300"}}},
      {"bloom",
       {{"hidden_size", ""},
        {"n_embed", "36"},
        {"n_head", ""},
        {"num_attention_heads", "4"},
        {"n_layer", ""},
        {"num_hidden_layers", "2"}}},
      {"falcon_7b",
       {{"rope_parameters", ""},
        {"rope_theta", "700.0"},
        {"hidden_size", ""},
        {"n_embed", "36"},
        {"num_attention_heads", ""},
        {"n_head", "6"},
        {"num_hidden_layers", ""},
        {"n_layer", "3"},
        {"num_kv_heads", ""},
        {"max_position_embeddings", ""}}},
      {"falcon_40b",
       {{"rope_parameters", ""},
        {"rope_theta", "700.0"},
        {"num_ln_in_parallel_attn", ""},
        {"num_kv_heads", ""},
        {"n_head_kv", "2"}}},
      {"falcon_rw", {{"rope_parameters", ""}, {"num_kv_heads", ""}}},
      {"nemotron",
       {{"rope_parameters", ""}, {"rope_theta", "700"}, {"partial_rotary_factor", "0.5"}}},
      {"starcoder2", {{"rope_parameters", ""}, {"rope_theta", "700"}}},
      {"stablelm",
       {{"rope_parameters", ""}, {"rope_theta", "700"}, {"partial_rotary_factor", "0.34"}}},
      {"phi", {{"rope_parameters", ""}, {"rope_theta", "700"}, {"partial_rotary_factor", "0.4"}}},
      {"phi3_longrope",
       {{"rope_parameters", ""},
        {"rope_theta", "700"},
        {"partial_rotary_factor", "0.67"},
        {"rope_scaling",
         R"({"type": "su", "short_factor": [1.0, 1.3], "long_factor": [1.6, 3.5]})"}}},
      {"phi3_longrope_short",
       {{"rope_parameters", ""},
        {"rope_theta", "700"},
        {"rope_scaling", R"({"type": "longrope", "short_factor": [1.1, 1.3, 1.9],
                             "long_factor": [1.6, 3.5, 7.0]})"}}},
  };
  for (const OlderForm& form : forms)
    EXPECT_TRUE(
        support::same_bits(logits(changed(form.name, form.changes)), golden_logits(form.name)))
        << form.name;
}

TEST(GptFamilies, NamesWithoutThePrefixGiveTheSameBits) {
  for (const auto& [name, prefix] : {std::pair<std::string, std::string>{"gptj", "transformer."},
                                     {"gpt_neox", "gpt_neox."},
                                     {"opt", "model."},
                                     {"bloom", "transformer."},
                                     {"mpt", "transformer."},
                                     {"falcon_7b", "transformer."}}) {
    Model m = Model::golden(name);
    Tensors bare;
    for (const auto& [stored, tensor] : m.tensors)
      bare[stored.starts_with(prefix) ? stored.substr(prefix.size()) : stored] = tensor;
    ASSERT_NE(bare.begin()->first, m.tensors.begin()->first);
    m.tensors = bare;
    EXPECT_TRUE(support::same_bits(logits(m), golden_logits(name))) << name;
  }
}

TEST(GptFamilies, AHeadOfItsOwnWhereNothingIsTied) {
  for (const char* name : {"gpt2", "opt", "bloom", "mpt", "falcon_40b", "starcoder2"}) {
    Model m = changed(name, {{"tie_word_embeddings", "false"}});
    EXPECT_TRUE(build::says(error(m), "missing: lm_head.weight")) << name;
    for (const auto& [stored, tensor] : Tensors(m.tensors))
      if (tensor.shape == std::vector<index_t>{101, 36}) m.tensors["lm_head.weight"] = tensor;
    EXPECT_TRUE(support::same_bits(logits(m), golden_logits(name))) << name;
    for (float& x : m.tensors["lm_head.weight"].values) x *= 2;
    Floats twice = golden_logits(name);
    for (float& x : twice) x *= 2;
    EXPECT_TRUE(support::same_bits(logits(m), twice)) << name;
  }
}

TEST(GptFamilies, WhatIsNotSupportedNamesKeyAndValue) {
  struct Refused {
    const char* name;
    Changes changes;
    const char* text;
  };
  const std::vector<Refused> cases = {
      {"gpt2", {{"add_cross_attention", "true"}}, "add_cross_attention is \"true\""},
      {"gptj", {{"rotary_dim", "5"}}, "rotary_dim is 5, expected an even number"},
      {"gptj", {{"rotary_dim", "14"}}, "rotary_dim is 14, expected 1 to 12"},
      {"gptj", {{"activation_function", "\"mish\""}}, "activation_function is \"mish\", supported"},
      {"gpt_neox", {{"num_attention_heads", "5"}}, "hidden_size is 36, expected a multiple of num"},
      {"gpt_neox", {{"rope_parameters", ""}, {"rotary_pct", "1.5"}}, "rotary_pct is 1.5, expected"},
      {"stablelm",
       {{"rope_parameters", R"({"partial_rotary_factor": 0.45})"}},
       "partial_rotary_factor is 0.45: rotary positions of 5 elements of a head of 12"},
      {"gpt_neox", {{"layer_norm_eps", "0"}}, "layer_norm_eps is 0, expected"},
      {"opt_350m", {{"layer_norm_elementwise_affine", "false"}}, "elementwise_affine is \"false\""},
      {"opt", {{"_remove_final_layer_norm", "true"}}, "_remove_final_layer_norm is \"true\""},
      {"bloom",
       {{"slow_but_exact", "true"}, {"pretraining_tp", "2"}},
       "slow_but_exact is \"true\", supported: false"},
      {"mpt", {{"attn_config", R"({"alibi": false})"}}, "attn_config: alibi is \"false\""},
      {"mpt", {{"attn_config", R"({"clip_qkv": -1})"}}, "clip_qkv is -1, expected"},
      {"falcon_7b", {{"num_ln_in_parallel_attn", "2"}}, "num_ln_in_parallel_attn is \"2\""},
      {"falcon_40b", {{"num_ln_in_parallel_attn", "3"}}, "parallel_attn is 3, expected 1 to 2"},
      {"falcon_40b", {{"parallel_attn", "false"}}, "parallel_attn is \"false\", supported: true"},
      {"falcon_rw", {{"num_kv_heads", "4"}}, "num_kv_heads is \"4\", supported: 12"},
      {"nemotron", {{"norm_eps", "-1"}}, "norm_eps is -1, expected"},
      {"starcoder2", {{"sliding_window", "0"}}, "sliding_window is 0, expected 1 to"},
      {"stablelm", {{"num_key_value_heads", "2"}}, "num_key_value_heads is 2, expected a divisor"},
      {"phi3_longrope",
       {{"rope_parameters", R"({"rope_type": "longrope", "short_factor": [1.0],
                                "long_factor": [1.0, 2.0]})"}},
       "short_factor has 1 numbers, expected 3"},
  };
  for (const Refused& c : cases)
    EXPECT_TRUE(build::says(error(changed(c.name, c.changes)), c.text)) << c.name;
}

/// The configuration of a golden model with these changes; tensors are not looked at.
template <class Family>
auto config_of(const std::string& name, const Changes& changes) {
  const TemporaryFolder folder;
  changed(name, changes).write(folder.path());
  return Family::config(Checkpoint(folder.path()));
}

TEST(GptFamilies, AbsentKeysMeanTheDefaultsOfTheirClass) {
  const auto neox = config_of<GptNeoxKind<true>>("gpt_neox", {{"rope_parameters", ""},
                                                              {"hidden_size", "48"},
                                                              {"intermediate_size", ""},
                                                              {"layer_norm_eps", ""},
                                                              {"attention_bias", ""},
                                                              {"hidden_act", ""}});
  EXPECT_EQ(neox.layers[0].mixer.position.rule, (RopeRule{10000.0, 4, {}}));
  EXPECT_EQ(neox.layers[0].dims.d_ff, 24576);
  EXPECT_EQ(neox.layers[0].norm.eps, 1e-5f);
  EXPECT_TRUE(neox.layers[0].mixer.bias.q && neox.layers[0].mixer.bias.out);
  EXPECT_EQ(neox.layers[0].ffn.activation, ActivationKind::gelu);

  const auto gptj = config_of<GptjFamily>(
      "gptj", {{"rotary_dim", ""}, {"n_embd", "300"}, {"n_inner", ""}, {"n_positions", ""}});
  EXPECT_EQ(gptj.layers[0].mixer.position.rule.width, 64);
  EXPECT_EQ(gptj.layers[0].dims.d_ff, 1200);
  EXPECT_EQ(gptj.context_length, 2048);

  const auto opt = config_of<OptKind<Gpt2FileSpec>>(
      "opt", {{"enable_bias", ""}, {"activation_function", ""}, {"tie_word_embeddings", ""}});
  EXPECT_TRUE(opt.layers[0].mixer.bias.k && opt.layers[0].ffn.bias && opt.tied_head);
  EXPECT_EQ(opt.layers[0].ffn.activation, ActivationKind::relu);

  const auto falcon = config_of<FalconKind<ParallelOneNormSpec, 1, false>>(
      "falcon_7b", {{"multi_query", ""}, {"bias", ""}, {"ffn_hidden_size", ""}});
  EXPECT_EQ(falcon.layers[0].dims.n_kv_heads, 1);
  EXPECT_EQ(falcon.layers[0].dims.d_ff, 144);
  EXPECT_FALSE(falcon.layers[0].mixer.bias.q || falcon.layers[0].ffn.bias);

  const auto nemotron = config_of<NemotronFamily>(
      "nemotron", {{"rope_parameters", ""}, {"head_dim", ""}, {"hidden_size", "48"}});
  EXPECT_EQ(nemotron.layers[0].mixer.position.rule, (RopeRule{10000.0, 4, {}}));
  const auto starcoder = config_of<Starcoder2Family>(
      "starcoder2", {{"use_bias", ""}, {"num_key_value_heads", ""}, {"hidden_act", ""}});
  EXPECT_TRUE(starcoder.layers[0].mixer.bias.v && starcoder.layers[0].ffn.bias);
  EXPECT_EQ(starcoder.layers[0].dims.n_kv_heads, 2);
  EXPECT_EQ(starcoder.layers[0].ffn.activation, ActivationKind::gelu_tanh);
  const auto stablelm = config_of<StableLmKind<false>>(
      "stablelm", {{"rope_parameters", ""}, {"qk_layernorm", ""}, {"hidden_size", "48"}});
  EXPECT_EQ(stablelm.layers[0].mixer.position.rule.width, 4);
  EXPECT_FALSE(stablelm.layers[0].mixer.qk_norm.enabled);
  const auto phi = config_of<PhiFamily>("phi", {{"rope_parameters", ""}, {"layer_norm_eps", ""}});
  EXPECT_EQ(phi.layers[0].mixer.position.rule.width, 6);
  EXPECT_EQ(phi.layers[0].norm.eps, 1e-5f);
}

/// The logits of the first `count` tokens of a sequence that was made for `capacity`.
Floats logits_within(const Model& m, index_t count, index_t capacity, index_t step) {
  const TemporaryFolder folder;
  m.write(folder.path());
  examples::ProgressLine progress("", true);
  const auto lm = examples::load_any_family(Checkpoint(folder.path()), "scalar", {}, progress);
  golden::Ids ids;
  for (index_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(i * 37 % 101));
  lm->start(1, capacity);
  Floats all;
  for (index_t first = 0; first < count; first += step) {
    const index_t n = std::min(step, count - first);
    const Floats part =
        golden::head(*lm, golden::forward(*lm, golden::IdsView(ids.data() + first, {1, n})));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(GptFamilies, LongRopeGoesByWhatASequenceWasMadeFor) {
  // The long factors, by a trained context of 5, against those by capacity: the same bits before
  // and after the border of 12, whole and in parts.
  const char* rope = R"({"rope_type": "longrope", "rope_theta": 700.0, "attention_factor": 1.25,
                         "short_factor": [1.1, 1.3, 1.9], "long_factor": [1.6, 3.5, 7.0]})";
  const auto trained_for = [&](const char* original) {
    return changed("phi3_longrope_short",
                   {{"original_max_position_embeddings", original}, {"rope_parameters", rope}});
  };
  const Floats wanted = logits_within(trained_for("5"), 17, 17, 17);
  for (const index_t step : {17, 5, 1})
    EXPECT_TRUE(support::same_bits(logits_within(trained_for("12"), 17, 17, step), wanted)) << step;
  Floats before = wanted;
  before.resize(at(7 * 101));
  EXPECT_TRUE(support::same_bits(logits_within(trained_for("12"), 7, 13, 7), before));
  // Made for no more than the trained context it has the short ones.
  const Floats shorter = logits_within(trained_for("100"), 7, 7, 7);
  EXPECT_FALSE(support::all_close(shorter, before, 1e-3));
  EXPECT_TRUE(support::same_bits(logits_within(trained_for("12"), 7, 12, 3), shorter));
}

TEST(GptFamilies, SharesOfAHeadAreReadWhereTheClassReadsThem) {
  const char* inside = R"({"rope_theta": 700.0, "rope_type": "default",
                           "partial_rotary_factor": 0.5})";
  for (const char* name : {"llama2", "mistral", "qwen2", "falcon_7b", "starcoder2"}) {
    Model m = changed(name, {{"partial_rotary_factor", "0.5"}});
    const Floats expected = golden_logits(name);
    EXPECT_TRUE(support::same_bits(logits(m), expected)) << name;
    m = changed(name, {{"rope_parameters", R"({"rope_theta": 700.0})"}});
    const Floats plain = logits(m);
    m.config["rope_parameters"] = inside;
    EXPECT_TRUE(support::same_bits(logits(m), plain)) << name;
  }
  for (const char* name : {"phi", "stablelm", "nemotron", "gpt_neox", "phi3_longrope_short"}) {
    const Floats whole = logits(changed(
        name, {{"rope_parameters", R"({"rope_theta": 700.0, "partial_rotary_factor": 1.0})"}}));
    EXPECT_FALSE(
        support::all_close(logits(changed(name, {{"rope_parameters", inside}})), whole, 1e-3))
        << name;
  }
}

TEST(GptFamilies, LayersShareTheListsOfTheirConfiguration) {
  const auto bloom = config_of<BloomKind<false>>(
      "bloom", {{"hidden_size", "65536"}, {"n_head", "65536"}, {"n_layer", "10000"}});
  ASSERT_EQ(bloom.layers.size(), 10'000u);
  EXPECT_EQ(bloom.layers[0].mixer.score.slopes.size(), 65'536u);
  EXPECT_EQ(bloom.layers[9999].mixer.score.slopes.data(),
            bloom.layers[0].mixer.score.slopes.data());
  const auto phi3 = config_of<Phi3Family>("phi3_longrope", {{"num_hidden_layers", "10000"}});
  const auto factors = [](const auto& layer) {
    return layer.mixer.position.rule.scaling.template get_if<rope_scaling::LongRope>()
        ->long_factors.data();
  };
  EXPECT_EQ(factors(phi3.layers.at(9999)), factors(phi3.layers[0]));
}

TEST(GptFamilies, AlibiWantsASlopeForEveryHead) {
  using Lm = CausalLm<BloomSpec>;
  auto c = config_of<BloomKind<false>>("bloom_12_heads", {});
  const auto visit = [&] {
    Lm::Weights w;
    Lm::visit(w, c, detail::AnyVisitor{});
  };
  EXPECT_EQ(build::error_of(visit), "");
  c.layers[1].mixer.score.slopes = alibi_slopes(11);
  EXPECT_TRUE(build::says(build::error_of(visit), "11 slopes, expected 12"));
  FalconAlibi::Weights none;
  EXPECT_TRUE(build::says(
      build::error_of([&] {
        FalconAlibi::visit(none, {{1.f, 2.f}, 1.f}, {.n_heads = 3}, detail::AnyVisitor{});
      }),
      "2 slopes, expected 3"));
}

TEST(GptFamilies, Gpt2FromGguf) {
  const std::map<std::string, std::string> names = {
      {"wte", "token_embd"},       {"wpe", "position_embd"},       {"ln_f", "output_norm"},
      {"lm_head", "output"},       {"ln_1", "attn_norm"},          {"ln_2", "ffn_norm"},
      {"attn.c_attn", "attn_qkv"}, {"attn.c_proj", "attn_output"}, {"mlp.c_fc", "ffn_up"},
      {"mlp.c_proj", "ffn_down"}};
  for (const char* name : {"gpt2", "gpt2_layer_scale"}) {
    const Model m = Model::golden(name);
    const auto integer = [&](const char* key) { return std::stoll(m.config.at(key)); };
    GgufParts file;
    file.strings["general.architecture"] = "gpt2";
    file.integers = {{"gpt2.embedding_length", integer("n_embd")},
                     {"gpt2.attention.head_count", integer("n_head")},
                     {"gpt2.context_length", integer("n_positions")},
                     {"gpt2.block_count", integer("n_layer")}};
    file.numbers["gpt2.attention.layer_norm_epsilon"] =
        std::stod(m.config.at("layer_norm_epsilon"));
    for (const auto& [stored, tensor] : m.tensors) {
      const auto dot = stored.rfind('.');
      std::string base = stored.substr(0, dot), prefix;
      if (base.starts_with("transformer.")) base = base.substr(12);
      if (base.starts_with("h.")) {
        const auto end = base.find('.', 2);
        prefix = "blk." + base.substr(2, end - 2) + ".";
        base = base.substr(end + 1);
      }
      Tensor t = tensor;
      if (base.find(".c_") != base.npos && t.shape.size() == 2) {  // [in, out] becomes [out, in]
        const index_t in = t.shape[0], out = t.shape[1];
        t.shape = {out, in};
        for (index_t i = 0; i < in; ++i)
          for (index_t o = 0; o < out; ++o)
            t.values[at(o * in + i)] = tensor.values[at(i * out + o)];
        if (base == "mlp.c_fc") file.integers["gpt2.feed_forward_length"] = out;
      }
      file.tensors[prefix + names.at(base) + stored.substr(dot)] = t;
    }
    const TemporaryFolder folder;
    file.write(folder / "model.gguf");
    const bool by_layer = m.config.at("scale_attn_by_inverse_layer_idx") == "true";
    const Floats expected =  // GGUF has no key for a scale of its own
        by_layer ? logits(changed(name, {{"scale_attn_by_inverse_layer_idx", "false"}}))
                 : golden_logits(name);
    EXPECT_TRUE(support::same_bits(logits(folder / "model.gguf"), expected)) << name;
  }
}

}  // namespace
}  // namespace models_test
