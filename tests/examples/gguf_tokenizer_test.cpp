// The tokenizer as read from a GGUF file: small files made here, and the real SmolLM2.
#include "common/gguf_tokenizer.hpp"

#include <gtest/gtest.h>

#include <ashlar/weights/gguf.hpp>
#include <ashlar/weights/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "common/chat.hpp"

namespace {

using namespace ashlar::examples;
using Ids = std::vector<std::int32_t>;

/// Metadata of a GGUF file without tensors.
class Metadata {
 public:
  Metadata& add(const std::string& key, const std::string& value) {
    begin(key, 8);
    text(value);
    return *this;
  }
  Metadata& add(const std::string& key, std::uint32_t value) {
    begin(key, 4);
    number(value, 4);
    return *this;
  }
  Metadata& add(const std::string& key, bool value) {
    begin(key, 7);
    number(value, 1);
    return *this;
  }
  Metadata& add(const std::string& key, const std::vector<std::string>& values) {
    begin(key, 9);
    number(8, 4);
    number(values.size(), 8);
    for (const std::string& value : values) text(value);
    return *this;
  }
  Metadata& add(const std::string& key, const std::vector<std::uint32_t>& values) {
    begin(key, 9);
    number(5, 4);
    number(values.size(), 8);
    for (const std::uint32_t value : values) number(value, 4);
    return *this;
  }

  BpeVocabulary read() const {
    Metadata head;
    head.bytes_ = "GGUF";
    head.number(3, 4);
    head.number(0, 8);
    head.number(count_, 8);
    const std::string file = head.bytes_ + bytes_;
    return read_vocabulary(ashlar::GgufFile(std::as_bytes(std::span(file)), "tiny.gguf"));
  }

 private:
  void begin(const std::string& key, std::uint32_t type) {
    text(key);
    number(type, 4);
    ++count_;
  }
  void text(const std::string& value) {
    number(value.size(), 8);
    bytes_ += value;
  }
  void number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  std::string bytes_;
  std::uint64_t count_ = 0;
};

Metadata tiny() {
  Metadata metadata;
  metadata.add("tokenizer.ggml.model", std::string("gpt2"))
      .add("tokenizer.ggml.pre", std::string("refact"))
      .add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "<s>"})
      .add("tokenizer.ggml.token_type", std::vector<std::uint32_t>{1, 1, 1, 3})
      .add("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  return metadata;
}

std::string error_of(const Metadata& metadata) {
  try {
    metadata.read();
  } catch (const ashlar::FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(GgufTokenizer, ReadsEveryKey) {
  BpeVocabulary vocabulary = tiny().read();
  EXPECT_EQ(vocabulary.tokens, (std::vector<std::string>{"a", "b", "ab", "<s>"}));
  EXPECT_EQ(vocabulary.types, (std::vector{1, 1, 1, 3}));
  EXPECT_EQ(vocabulary.merges, (std::vector<std::string>{"a b"}));
  EXPECT_EQ(vocabulary.pre, "refact");
  EXPECT_FALSE(vocabulary.bos || vocabulary.eos || vocabulary.unknown || vocabulary.padding);
  EXPECT_FALSE(vocabulary.add_bos);
  vocabulary = tiny()
                   .add("tokenizer.ggml.bos_token_id", 3u)
                   .add("tokenizer.ggml.eos_token_id", 2u)
                   .add("tokenizer.ggml.unknown_token_id", 1u)
                   .add("tokenizer.ggml.padding_token_id", 0u)
                   .add("tokenizer.ggml.add_bos_token", true)
                   .read();
  EXPECT_EQ(vocabulary.bos, 3);
  EXPECT_EQ(vocabulary.eos, 2);
  EXPECT_EQ(vocabulary.unknown, 1);
  EXPECT_EQ(vocabulary.padding, 0);
  EXPECT_TRUE(vocabulary.add_bos);
  const ByteLevelBpe bpe(vocabulary);
  EXPECT_EQ(bpe.encode("<s>abb"), (Ids{3, 2, 1}));
  EXPECT_EQ(bpe.bos(), 3);
  EXPECT_EQ(bpe.eos(), 2);
  EXPECT_TRUE(bpe.add_bos());
}

TEST(GgufTokenizer, Errors) {
  EXPECT_EQ(error_of(Metadata().add("tokenizer.ggml.model", std::string("llama"))),
            "tiny.gguf: tokenizer.ggml.model is \"llama\", expected \"gpt2\" (byte-level BPE)");
  const std::string missing = error_of(Metadata().add("general.name", std::string("x")));
  EXPECT_NE(missing.find("tokenizer.ggml.model"), std::string::npos) << missing;
  EXPECT_EQ(error_of(tiny().add("tokenizer.ggml.eos_token_id", 0xFFFFFFFFu)),
            "tiny.gguf: tokenizer.ggml.eos_token_id is 4294967295, expected 0 to 2147483647");
}

/// ASHLAR_SMOLLM2 names the file SmolLM2-135M-Instruct.Q4_1.gguf.
class SmolLm2 : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("ASHLAR_SMOLLM2");
    if (!path) GTEST_SKIP() << "ASHLAR_SMOLLM2 does not name the model file";
    vocabulary_ = read_vocabulary(ashlar::GgufFile(path));
  }

  BpeVocabulary vocabulary_;
};

TEST_F(SmolLm2, EveryStringOfTheGoldenFile) {
  const ByteLevelBpe bpe(vocabulary_);
  EXPECT_EQ(bpe.size(), 49152u);
  EXPECT_EQ(bpe.bos(), 1);
  EXPECT_EQ(bpe.eos(), 2);
  EXPECT_FALSE(bpe.add_bos());

  const std::string path = ASHLAR_TEST_DATA "/real/smollm2_tokenizer.json";
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const ashlar::Json golden = ashlar::Json::parse(text, path);
  ASSERT_EQ(golden.items().size(), 40u);
  for (const ashlar::Json& item : golden.items()) {
    const std::string& input = item.at("text").as_string();
    Ids ids;
    for (const ashlar::Json& id : item.at("ids").items()) {
      ids.push_back(static_cast<std::int32_t>(id.as_int()));
    }
    EXPECT_EQ(bpe.encode(input), ids) << input;
    EXPECT_EQ(bpe.decode(ids), item.at("decoded").as_string()) << input;
  }
}

TEST_F(SmolLm2, ChatPrompt) {
  // `prompt1.input_ids` of smollm2.safetensors, made by transformers.
  const Ids expected = {1,    9690, 198,   2683, 359,   253, 5356, 5646,  11173, 3365,
                        3511, 308,  34519, 28,   7018,  411, 407,  19712, 8182,  2,
                        198,  1,    4093,  198,  36971, 281, 827,  8545,  1701,  260,
                        6376, 314,  4461,  30,   2,     198, 1,    520,   9531,  198};
  const ChatMessage question{"user", "Explain in two sentences why the sky is blue."};
  EXPECT_EQ(chatml_tokens(ByteLevelBpe(vocabulary_), {&question, 1}), expected);
}

}  // namespace
