// The tokenizer as read from a GGUF file: small files made here, and the real SmolLM2 and Gemma 3.
#include "common/gguf_tokenizer.hpp"

#include <gtest/gtest.h>

#include <ashlar/weights/gguf.hpp>
#include <ashlar/weights/safetensors.hpp>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/chat.hpp"
#include "common/utf8_stream.hpp"
#include "golden/case.hpp"
#include "golden_strings.hpp"

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

  Metadata& add(const std::string& key, const std::vector<float>& values) {
    begin(key, 9);
    number(6, 4);
    number(values.size(), 8);
    for (const float value : values) number(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }

  /// What `read` makes of the file.
  template <class Read>
  auto as(Read&& read) const {
    Metadata head;
    head.bytes_ = "GGUF";
    head.number(3, 4);
    head.number(0, 8);
    head.number(count_, 8);
    const std::string file = head.bytes_ + bytes_;
    return read(ashlar::GgufFile(std::as_bytes(std::span(file)), "tiny.gguf"));
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

Metadata tiny_pieces() {
  Metadata metadata;
  metadata.add("tokenizer.ggml.model", std::string("llama"))
      .add("tokenizer.ggml.tokens",
           std::vector<std::string>{"<s>", "\u2581", "a", "\u2581a", "<0x0A>"})
      .add("tokenizer.ggml.token_type", std::vector<std::uint32_t>{3, 1, 1, 1, 6})
      .add("tokenizer.ggml.scores", std::vector<float>{0, -1.5f, -2, -0.5f, 0});
  return metadata;
}

std::string error_of(const Metadata& metadata) {
  try {
    metadata.as(read_tokenizer);
  } catch (const ashlar::FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(GgufTokenizer, ReadsEveryKey) {
  BpeVocabulary vocabulary = tiny().as(read_bpe_vocabulary);
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
                   .as(read_bpe_vocabulary);
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

TEST(GgufTokenizer, ReadsEveryKeyOfPieces) {
  SentencePieceVocabulary vocabulary = tiny_pieces().as(read_sentence_piece_vocabulary);
  EXPECT_EQ(vocabulary.tokens[3], "\u2581a");
  EXPECT_EQ(vocabulary.types, (std::vector{3, 1, 1, 1, 6}));
  EXPECT_EQ(vocabulary.scores, (std::vector<double>{0, -1.5, -2, -0.5, 0}));
  EXPECT_TRUE(vocabulary.add_bos);  // what llama.cpp takes where the file says nothing
  EXPECT_TRUE(vocabulary.add_space_prefix);
  vocabulary = tiny_pieces()
                   .add("tokenizer.ggml.bos_token_id", 0u)
                   .add("tokenizer.ggml.add_bos_token", false)
                   .add("tokenizer.ggml.add_space_prefix", false)
                   .as(read_sentence_piece_vocabulary);
  EXPECT_EQ(vocabulary.bos, 0);
  EXPECT_FALSE(vocabulary.add_bos);
  EXPECT_FALSE(vocabulary.add_space_prefix);
}

TEST(GgufTokenizer, TheFileNamesTheKind) {
  const auto bpe = tiny().as(read_tokenizer), pieces = tiny_pieces().as(read_tokenizer);
  EXPECT_EQ(bpe->encode("ab<s>"), (Ids{2, 3}));
  EXPECT_EQ(pieces->encode("a a\n<s>"), (Ids{3, 3, 4, 0}));
  EXPECT_EQ(pieces->decode(Ids{3, 3, 4, 0}), "a a\n<s>");
}

TEST(GgufTokenizer, Errors) {
  EXPECT_EQ(error_of(Metadata().add("tokenizer.ggml.model", std::string("bert"))),
            "tiny.gguf: tokenizer.ggml.model is \"bert\", expected \"gpt2\" (byte-level BPE) or "
            "\"llama\" (SentencePiece)");
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
    vocabulary_ = read_bpe_vocabulary(ashlar::GgufFile(path));
  }

  BpeVocabulary vocabulary_;
};

TEST_F(SmolLm2, EveryStringOfTheGoldenFile) {
  const ByteLevelBpe bpe(vocabulary_);
  EXPECT_EQ(bpe.size(), 49152u);
  EXPECT_EQ(bpe.bos(), 1);
  EXPECT_EQ(bpe.eos(), 2);
  EXPECT_FALSE(bpe.add_bos());

  const auto strings = golden_strings("smollm2_tokenizer.json");
  ASSERT_EQ(strings.size(), 40u);
  for (const GoldenString& golden : strings) {
    EXPECT_EQ(bpe.encode(golden.text), golden.ids) << golden.text;
    EXPECT_EQ(bpe.decode(golden.ids), golden.decoded) << golden.text;
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

/// ASHLAR_GEMMA3_270M names the file gemma-3-270m-q4_k_m.gguf.
class Gemma3 : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("ASHLAR_GEMMA3_270M");
    if (!path) GTEST_SKIP() << "ASHLAR_GEMMA3_270M does not name the model file";
    tokenizer_ = read_tokenizer(ashlar::GgufFile(path));
  }

  std::unique_ptr<const Tokenizer> tokenizer_;
};

TEST_F(Gemma3, EveryStringOfTheGoldenFile) {
  EXPECT_EQ(tokenizer_->size(), 262144u);
  EXPECT_EQ(tokenizer_->bos(), 2);
  EXPECT_EQ(tokenizer_->eos(), 1);
  EXPECT_TRUE(tokenizer_->add_bos());

  const auto strings = golden_strings("gemma3_270m_tokenizer.json");
  ASSERT_EQ(strings.size(), 12u);
  for (const GoldenString& golden : strings) {
    EXPECT_EQ(tokenizer_->encode(golden.text), golden.ids) << golden.text;
    EXPECT_EQ(tokenizer_->decode(golden.ids), golden.text);
    Utf8Stream stream;
    std::string streamed;
    for (const std::int32_t id : golden.ids) streamed += stream.push(tokenizer_->piece(id));
    EXPECT_EQ(streamed + stream.finish(), golden.text);
  }
}

TEST_F(Gemma3, PromptsAndText) {
  const ashlar::SafetensorsFile golden(ASHLAR_TEST_DATA "/real/gemma3_270m.safetensors");
  for (const std::string name : {"prompt0", "prompt1", "text"}) {
    Ids expected = golden::read_values<std::int32_t>(golden.at(name + ".input_ids"));
    ASSERT_EQ(expected[0], 2);  // what add_bos() asks for
    expected.erase(expected.begin());
    const auto text = golden.metadata().find(name);
    ASSERT_NE(text, golden.metadata().end());
    EXPECT_EQ(tokenizer_->encode(text->second, {.parse_special = false}), expected) << name;
  }
}

TEST_F(Gemma3, ControlTokensOnlyWhereAllowed) {
  const Ids turn = tokenizer_->encode("<start_of_turn>", {.parse_special = false});
  EXPECT_GT(turn.size(), 1u);
  EXPECT_EQ(tokenizer_->decode(turn), "<start_of_turn>");
  // User-defined ones are found in any case.
  EXPECT_EQ(tokenizer_->encode("<table>\n\n", {.parse_special = false}), (Ids{168, 108}));
}

}  // namespace
