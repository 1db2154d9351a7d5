// Opening checkpoints, the choice of the family, and the limits of a loaded model.
#include <gtest/gtest.h>

#include <ashlar/backend/scalar.hpp>
#include <ashlar/models/language_model.hpp>
#include <ashlar/models/presets/gpt2.hpp>
#include <ashlar/models/presets/llama.hpp>

#include "model_files.hpp"

namespace models_test {
namespace {

using namespace ashlar;

std::string golden_path(const std::string& name) {
  return std::string(ASHLAR_TEST_DATA) + "/decoder/" + name;
}
template <class Progress>
auto load(const std::string& path, Progress&& progress) {
  return load_language_model<backend::ScalarCpu, LlamaFamily, Gpt2Family>(Checkpoint(path),
                                                                          Executor{}, progress);
}
std::string open_error(const std::string& path) {
  return build::error_of([&] { load(path, [](index_t, index_t) {}); });
}

TEST(Checkpoint, AFolderHasAConfiguration) {
  const Checkpoint c(golden_path("gpt2"));
  EXPECT_EQ(c.family(), "gpt2");
  EXPECT_EQ(c.gguf(), nullptr);
  ASSERT_NE(c.config(), nullptr);
  EXPECT_EQ(c.config()->integer("n_embd"), 36);
  EXPECT_NE(c.tensors().find("transformer.wte.weight"), nullptr);
}

TEST(Checkpoint, AGgufFileHasKeys) {
  const TemporaryFolder folder;
  build::Gguf file;
  file.entry("general.architecture", 8, build::gguf_string("gpt2"));
  write_file(folder / "any name", file.file());
  const Checkpoint c(folder / "any name");
  EXPECT_EQ(c.family(), "gpt2");
  EXPECT_EQ(c.config(), nullptr);
  ASSERT_NE(c.gguf(), nullptr);
  EXPECT_TRUE(build::says(open_error(folder / "any name"), "has no key \"gpt2."));
}

TEST(Checkpoint, ErrorsNameWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(build::says(open_error(folder / "nothing"), "nothing"));
  EXPECT_EQ(open_error(folder.path()), folder.path() + ": is a folder without config.json");
  EXPECT_EQ(open_error(""),
            "the path of the checkpoint is empty, expected a .gguf file or a folder");
  EXPECT_TRUE(build::says(open_error(golden_path("gpt2/model.safetensors")),
                          "is a file of tensors, expected its folder"));
  write_file(folder / "config.json", "{\"model_type\": \"llama\"}");
  EXPECT_TRUE(build::says(open_error(folder.path()),
                          "has neither model.safetensors nor model.safetensors.index.json"));
  write_file(folder / "config.json", "{\"model_type\": ");
  EXPECT_TRUE(build::says(open_error(folder.path()), "config.json: JSON: byte"));
  Model m = Model::golden("llama2");
  m.config.erase("model_type");
  m.write(folder.path());
  EXPECT_TRUE(build::says(open_error(folder.path()), "config.json: has no key \"model_type\""));
  m.config["model_type"] = "7";
  m.write(folder.path());
  EXPECT_TRUE(
      build::says(open_error(folder.path()), "model_type is an integer, expected a string"));
  m.config["model_type"] = "\"mamba\"";
  m.write(folder.path());
  EXPECT_EQ(open_error(folder.path()),
            folder.path() + ": model family is \"mamba\", supported: llama, gpt2");
  m.config["model_type"] = "\"a\\u0000b\\u001b[2J\\nsupported\"";
  m.write(folder.path());
  EXPECT_EQ(open_error(folder.path()),
            folder.path() +
                ": model family is \"a\\x00b\\x1b[2J\\x0asupported\", supported: "
                "llama, gpt2");
}

TEST(LanguageModel, TellsItsNumbersAndTheProgressOfLoading) {
  std::vector<index_t> done;
  index_t all = 0;
  const auto lm = load(golden_path("llama3"), [&](index_t bytes, index_t total) {
    EXPECT_LE(bytes, total);
    done.push_back(bytes);
    all = total;
  });
  const LanguageModelInfo& info = lm->info();
  EXPECT_EQ(info.family, "llama");
  EXPECT_EQ(info.backend, "scalar");
  EXPECT_EQ(info.vocabulary, 101);
  EXPECT_EQ(info.d_model, 36);
  EXPECT_EQ(info.layers, 3);
  EXPECT_EQ(info.context_length, 64);
  EXPECT_EQ(info.weight_bytes, all);
  EXPECT_GT(all, 4 * 2 * 101 * 36);
  ASSERT_EQ(done.size(), 30u);  // one call a tensor
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), all);
}

TEST(LanguageModel, TheContextLimitsTheCapacity) {
  const auto lm = load(golden_path("llama3"), [](index_t, index_t) {});
  lm->start(1, 64);
  EXPECT_TRUE(build::says(build::error_of([&] { lm->start(1, 65); }),
                          "capacity of 65 tokens is beyond the model's context of 64"));
  EXPECT_TRUE(build::says(build::error_of([&] { lm->start(0, 4); }), "state for 0 sequences"));
  load(golden_path("llama_dynamic"), [](index_t, index_t) {})->start(1, 1000);  // stretches itself
}

}  // namespace
}  // namespace models_test
