// Folders that wrap a language model with models of images or sound: what is read is the language
// model, the same one as without the wrapper.
#include <gtest/gtest.h>

#include "golden/model_run.hpp"
#include "model_files.hpp"
#include "support/compare.hpp"

namespace models_test {
namespace {

using namespace ashlar;

Floats logits(const std::string& path) {
  examples::ProgressLine progress("", true);
  const auto lm = examples::load_any_family(Checkpoint(path), "scalar", {}, progress);
  golden::Ids ids;
  for (index_t i = 0; i < 22; ++i) ids.push_back(static_cast<std::int32_t>(i * 37 % 101));
  lm->start(2, 11);
  return golden::head(*lm, golden::forward(*lm, golden::IdsView(ids.data(), {2, 11})));
}

/// How published folders name the parts: the language model's prefixes (of "model." and of the
/// head), and a tensor of another model.
struct Names {
  const char *body, *head, *other;
};
constexpr Names before = {"language_model.model.", "language_model.lm_head.weight",
                          "vision_tower.embeddings.patch_embedding.weight"};
constexpr Names after = {"model.language_model.", "lm_head.weight",
                         "model.vision_tower.patch_embedder.input_proj.weight"};
constexpr Names text_model = {"model.text_model.", "lm_head.weight",
                              "model.vision_model.post_layernorm.weight"};

Model wrapped(const std::string& golden, const Names& names, const std::string& wrapper,
              const Config& outer) {
  const Model inner = Model::golden(golden);
  Model m{.config = outer, .tensors = {{names.other, {{2, 3}, Floats(6, 1.f)}}}};
  m.config["model_type"] = '"' + wrapper + '"';
  m.config["text_config"] = text_of(inner.config);
  m.config["vision_config"] = R"({"model_type": "siglip_vision_model"})";
  for (const auto& [name, tensor] : inner.tensors)
    m.tensors[name == "lm_head.weight" ? names.head
                                       : names.body + name.substr(name.find('.') + 1)] = tensor;
  return m;
}

TEST(WrappedModels, AreTheLanguageModelInside) {
  struct Case {
    const char *golden, *wrapper;
    Names names;
  };
  const Case cases[] = {{"gemma3", "gemma3", before},      {"gemma3", "gemma3", after},
                        {"gemma4", "gemma4", after},       {"gemma4_k_is_v", "gemma4", after},
                        {"llama2", "llava", before},       {"llama2", "llava", after},
                        {"llama3", "smolvlm", text_model}, {"mistral", "mistral3", before}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.golden) + " in " + c.wrapper);
    const TemporaryFolder folder;
    wrapped(c.golden, c.names, c.wrapper, {}).write(folder.path());
    EXPECT_TRUE(Checkpoint(folder.path()).wrapped());
    EXPECT_TRUE(support::same_bits(logits(folder.path()),
                                   logits(std::string(ASHLAR_TEST_DATA) + "/decoder/" + c.golden)));
  }
}

TEST(WrappedModels, AHeadThatIsNotStoredIsTied) {
  // text_config says false, its class's default, and the wrapper true.
  Model m = wrapped("mistral", before, "mistral3", {{"tie_word_embeddings", "true"}});
  ASSERT_EQ(m.tensors.erase("language_model.lm_head.weight"), 1u);
  const TemporaryFolder folder;
  m.write(folder.path());
  Model tied = Model::golden("mistral");
  tied.tensors["lm_head.weight"] = tied.tensors.at("model.embed_tokens.weight");
  const TemporaryFolder plain;
  tied.write(plain.path());
  EXPECT_TRUE(support::same_bits(logits(folder.path()), logits(plain.path())));
}

TEST(WrappedModels, ErrorsNameThePart) {
  Model m = wrapped("gemma3", before, "gemma3", {});
  m.tensors.erase("language_model.model.norm.weight");
  const TemporaryFolder folder;
  m.write(folder.path());
  EXPECT_TRUE(
      build::says(build::error_of([&] { logits(folder.path()); }), "missing: model.norm.weight"));
  m.config["text_config"] = R"({"model_type": "gemma3_text", "hidden_size": -1})";
  m.write_config(folder.path());
  EXPECT_TRUE(build::says(build::error_of([&] { logits(folder.path()); }),
                          "config.json: text_config: hidden_size is -1, expected"));
  m.config["text_config"] = R"({"model_type": "moshi"})";
  m.write_config(folder.path());
  EXPECT_TRUE(build::says(build::error_of([&] { logits(folder.path()); }),
                          "model family is \"moshi\", supported: "));
  // One name twice: two language models.
  m.tensors["model.language_model.layers.0.input_layernorm.weight"] = {{2}, {1.f, 1.f}};
  m.write(folder.path());
  EXPECT_TRUE(build::says(build::error_of([&] { Checkpoint c(folder.path()); }), "occurs twice"));
}

}  // namespace
}  // namespace models_test
