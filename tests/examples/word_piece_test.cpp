// WordPiece: words of BERT, folding of letters, pieces, and the real vocabulary of MiniLM.
#include <gtest/gtest.h>

#include <ashlar/weights/safetensors.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/word_piece_files.hpp"
#include "golden/case.hpp"
#include "golden_strings.hpp"
#include "support/message.hpp"

namespace {

using namespace ashlar::examples;
using Ids = std::vector<std::int32_t>;
using Words = std::vector<std::string>;

std::string utf8(std::u32string_view text) {
  std::string result;
  for (const char32_t c : text) append_utf8(result, c);
  return result;
}
std::string folded(std::u32string_view text) {
  std::u32string result;
  for (const char32_t c : text) append_folded(result, c);
  return utf8(result);
}
Words words(std::string_view text, bool uncased = true) {
  Words result;
  for (const std::u32string& word : bert_words(text, uncased)) result.push_back(utf8(word));
  return result;
}

TEST(Unicode, ClassesOfWords) {
  // General categories by the Unicode Character Database.
  for (const char32_t c : {U'!', U'_', U'¿', U'、', U'«', U'־', U'।', char32_t{0x10A50}})
    EXPECT_TRUE(is_punctuation(c)) << static_cast<unsigned>(c);
  for (const char32_t c : {U'$', U'+', U'^', U'a', U'€', U'\u0301'})
    EXPECT_FALSE(is_punctuation(c));
  for (const char32_t c : {U'\u0301', U'\u05B0', U'\u094D', char32_t{0xE0100}})
    EXPECT_TRUE(is_nonspacing_mark(c));
  for (const char32_t c : {U'a', U'\u093E', U'\u20DD'}) EXPECT_FALSE(is_nonspacing_mark(c));
  for (const char32_t c :
       {U'\x01', U'\x7F', char32_t{0xAD}, char32_t{0x200B}, char32_t{0xE000}, char32_t{0xFEFF}})
    EXPECT_TRUE(is_control(c));
  for (const char32_t c : {U' ', U'a', char32_t{0x0378}}) EXPECT_FALSE(is_control(c));
}

TEST(Unicode, Folding) {
  EXPECT_EQ(folded(U"AZaz09 .ß"), "azaz09 .ß");
  EXPECT_EQ(folded(U"ÀÉÎÕÜÇÑåØÆÐ"), "aeioucnaøæð");
  EXPECT_EQ(folded(U"e\u0301 A\u030A \u212B ẤỆ ǅ İı"), "e a a ae ǆ iı");
  EXPECT_EQ(folded(U"ΆΈΉΊΌΎΏΪΣς ᾄᾼ Ω\u2126"), "αεηιουωισς αα ωω");
  EXPECT_EQ(folded(U"ЁЙЇЖЯ ӐӁ"), "еиіжя аж");
  EXPECT_EQ(folded(U"\uD55C\uAD6D\uC5B4 \uAC00\uD7A3"),
            "\u1112\u1161\u11AB\u1100\u116E\u11A8\u110B\u1165 \u1100\u1161\u1112\u1175\u11C2");
  EXPECT_EQ(folded(U"ガパ ぶ 日本 \uF900"), "カハ ふ 日本 豈");
  EXPECT_EQ(folded(U"\u09CB \U0001D160"), "\u09C7\u09BE \U0001D158\U0001D165\U0001D16E");
  EXPECT_EQ(folded(U"\U00010400\U0001E900\U0010FFFF"), "\U00010428\U0001E922\U0010FFFF");
}

TEST(BertWords, Cuts) {
  EXPECT_EQ(words(""), Words{});
  EXPECT_EQ(words(" \t\r\n\u00A0\u3000"), Words{});
  EXPECT_EQ(words("Hello, World!?"), (Words{"hello", ",", "world", "!", "?"}));
  EXPECT_EQ(words("a$b^c«d»e_f"), (Words{"a", "$", "b", "^", "c", "«", "d", "»", "e", "_", "f"}));
  EXPECT_EQ(words("你好a世b"), (Words{"你", "好", "a", "世", "b"}));
  EXPECT_EQ(words("テキスト"), (Words{"テキスト"}));
  EXPECT_EQ(words("\uF900x"), (Words{"豈", "x"}));
  EXPECT_EQ(words("a\u200Bb\x01"
                  "c\uE000d\uFEFF"),
            (Words{"abcd"}));
  EXPECT_EQ(words("a\u2028b\u00A0c\x0B"
                  "d"),
            (Words{"a", "b", "cd"}));  // U+000B is a control, U+2028 is white space
  EXPECT_EQ(words("a\xFF"
                  "b\xE4\xBD"),
            (Words{"ab"}));
  EXPECT_EQ(words("\u0301"), Words{});
  EXPECT_EQ(words("\u037E"), (Words{";"}));  // decomposes to punctuation
  EXPECT_EQ(words("Été Ü", false), (Words{"Été", "Ü"}));
}

WordPieceVocabulary toy(std::vector<std::string> tokens) {
  WordPieceVocabulary vocabulary;
  vocabulary.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  vocabulary.tokens.insert(vocabulary.tokens.end(), tokens.begin(), tokens.end());
  return vocabulary;
}

TEST(WordPiece, LongestMatch) {
  const WordPiece bert(toy({"un", "##aff", "##able", "##a", "##f", "a", "##é", "##éé", "##ff"}));
  EXPECT_EQ(bert.encode(""), (Ids{2, 3}));
  EXPECT_EQ(bert.encode("unaffable UN"), (Ids{2, 5, 6, 7, 5, 3}));
  EXPECT_EQ(bert.encode("aaf"), (Ids{2, 10, 8, 9, 3}));
  EXPECT_EQ(bert.encode("unaffx a"), (Ids{2, 1, 10, 3}));  // all of the word
  EXPECT_EQ(bert.encode("f"), (Ids{2, 1, 3}));             // only inside a word
  EXPECT_EQ(bert.encode("##f"), (Ids{2, 1, 1, 1, 3}));     // that is punctuation
  EXPECT_EQ(bert.find("##aff"), 6);
  EXPECT_FALSE(bert.find("aff"));
  EXPECT_EQ(bert.token(6), "##aff");
  EXPECT_EQ(bert.size(), 14u);
}

TEST(WordPiece, CharactersAreCountedAndNeverCut) {
  WordPieceVocabulary vocabulary = toy({"é", "##é", "##\xC3"});
  vocabulary.uncased = false;
  EXPECT_EQ(WordPiece(vocabulary).encode("ééé"), (Ids{2, 5, 6, 6, 3}));
  vocabulary.longest_word = 3;
  EXPECT_EQ(WordPiece(vocabulary).encode("ééé éééé"), (Ids{2, 5, 6, 6, 1, 3}));
  EXPECT_EQ(WordPiece(vocabulary).encode("éà"), (Ids{2, 1, 3}));
}

TEST(WordPiece, SpecialTokensAndLimit) {
  const WordPiece bert(toy({"a", "[", "]", "mask"}));
  EXPECT_EQ(bert.encode("a[MASK]a [SEP]"), (Ids{2, 5, 4, 5, 3, 3}));
  EXPECT_EQ(bert.encode("[mask]"), (Ids{2, 6, 8, 7, 3}));  // written otherwise
  EXPECT_EQ(bert.encode("[MASK]", {.parse_special = false}), (Ids{2, 6, 8, 7, 3}));
  EXPECT_EQ(bert.encode("a a a", {.max_tokens = 5}), (Ids{2, 5, 5, 5, 3}));
  EXPECT_EQ(bert.encode("a a a", {.max_tokens = 4}), (Ids{2, 5, 5, 3}));
  EXPECT_EQ(bert.encode("a a a", {.max_tokens = 2}), (Ids{2, 3}));
  EXPECT_EQ(support::message_of<ashlar::ValueError>([&] { bert.encode("a", {.max_tokens = 1}); }),
            "max_tokens is 1, expected at least 2, or 0 for no limit");
}

TEST(WordPiece, Errors) {
  EXPECT_EQ(support::message_of<ashlar::ValueError>([] {
              WordPiece(toy({"a", "a"}));
            }),
            "token 6 is \"a\", and so is token 5");
  WordPieceVocabulary vocabulary = toy({});
  vocabulary.tokens[1] = "<unk>";
  EXPECT_EQ(support::message_of<ashlar::ValueError>([&] { WordPiece{vocabulary}; }),
            "the vocabulary has no token [UNK]");
  const WordPiece bert(toy({}));
  for (const std::int32_t id : {-1, 5})
    EXPECT_EQ(support::message_of<ashlar::ValueError>([&] { (void)bert.token(id); }),
              "token id " + std::to_string(id) + " is outside the vocabulary of 5 tokens");
}

const std::string tiny_json =
    R"({"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
    R"("strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
    R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
    R"("max_input_chars_per_word":7,"vocab":{"b":1,"a":0,"##c":2}}})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = tiny_json;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(WordPieceFiles, Json) {
  WordPieceVocabulary vocabulary = parse_word_piece_json(tiny_json, "t.json");
  EXPECT_EQ(vocabulary.tokens, (Words{"a", "b", "##c"}));
  EXPECT_TRUE(vocabulary.uncased);
  EXPECT_EQ(vocabulary.longest_word, 7u);
  vocabulary = parse_word_piece_json(with("\"lowercase\":true", "\"lowercase\":false"), "t.json");
  EXPECT_FALSE(vocabulary.uncased);

  const auto error = [](const std::string& text) {
    return support::message_of<ashlar::FileError>([&] { parse_word_piece_json(text, "t.json"); });
  };
  EXPECT_EQ(error(with("WordPiece", "BPE")), "t.json: model.type is BPE, expected WordPiece");
  EXPECT_EQ(error(with("\"##\"", "\"@@\"")),
            "t.json: model.continuing_subword_prefix is @@, expected ##");
  EXPECT_EQ(error(with("\"strip_accents\":null", "\"strip_accents\":false")),
            "t.json: normalizer.strip_accents is false, expected true");
  EXPECT_EQ(error(with("\"clean_text\":true", "\"clean_text\":false")),
            "t.json: normalizer.clean_text is false, expected true");
  EXPECT_EQ(error(with("BertPreTokenizer", "Whitespace")),
            "t.json: pre_tokenizer.type is Whitespace, expected BertPreTokenizer");
  EXPECT_EQ(error(with("\"b\":1", "\"b\":0")),
            "t.json: id of \"a\" is 0, expected each of 0 to 2 once");
  EXPECT_EQ(error(with("\"b\":1", "\"b\":3")),
            "t.json: id of \"b\" is 3, expected each of 0 to 2 once");
  EXPECT_EQ(error(with("word\":7", "word\":0")),
            "t.json: model.max_input_chars_per_word is 0, expected at least 1");
}

TEST(WordPieceFiles, Lines) {
  EXPECT_EQ(parse_word_piece_lines("a\nb\r\n##c\n").tokens, (Words{"a", "b", "##c"}));
  EXPECT_EQ(parse_word_piece_lines("a\n\nb").tokens, (Words{"a", "", "b"}));
  EXPECT_EQ(parse_word_piece_lines("").tokens, Words{});
}

TEST(WordPieceFiles, Folder) {
  const std::string folder = testing::TempDir() + "ashlar_word_piece";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  };
  const std::string missing =
      support::message_of<ashlar::FileError>([&] { read_word_piece(folder); });
  EXPECT_TRUE(missing.starts_with(folder + "/vocab.txt: cannot be opened")) << missing;
  write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nÉ\n");
  EXPECT_EQ(read_word_piece(folder).encode("A É"), (Ids{1, 3, 0, 2}));
  write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(read_word_piece(folder).encode("A É"), (Ids{1, 0, 4, 2}));
  write("tokenizer.json", with("\"b\":1", R"("[UNK]":1,"[CLS]":3,"[SEP]":4)"));
  EXPECT_EQ(read_word_piece(folder).encode("ac"), (Ids{3, 0, 2, 4}));  // before the others
  std::filesystem::remove_all(folder);
}

/// ASHLAR_MINILM names the folder of all-MiniLM-L6-v2.
class MiniLm : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("ASHLAR_MINILM");
    if (!path) GTEST_SKIP() << "ASHLAR_MINILM does not name the model's folder";
    folder_ = path;
  }

  std::string folder_;
};

TEST_F(MiniLm, EveryStringOfTheGoldenFile) {
  const WordPiece bert = read_word_piece(folder_);
  EXPECT_EQ(bert.size(), 30522u);
  const auto strings = golden_strings("minilm_tokenizer.json");
  ASSERT_EQ(strings.size(), 14u);
  for (const GoldenString& golden : strings)
    EXPECT_EQ(bert.encode(golden.text), golden.ids) << golden.text;

  const ashlar::SafetensorsFile golden(ASHLAR_TEST_DATA "/real/minilm.safetensors");
  for (const std::string sentence : {"sentence0", "sentence1", "sentence2", "sentence3",
                                     "sentence4", "sentence5", "sentence6"}) {
    const auto text = golden.metadata().find(sentence);
    ASSERT_NE(text, golden.metadata().end());
    EXPECT_EQ(bert.encode(text->second, {.max_tokens = 256}),
              golden::read_values<std::int32_t>(golden.at(sentence + ".input_ids")));
  }
}

TEST_F(MiniLm, TheListOfWordsIsTheSame) {
  const ashlar::MappedFile file(folder_ + "/vocab.txt");
  const auto lines = parse_word_piece_lines(ashlar::detail::as_text(file.bytes()));
  const WordPiece bert = read_word_piece(folder_);
  ASSERT_EQ(lines.tokens.size(), bert.size());
  for (std::size_t i = 0; i < bert.size(); ++i)
    ASSERT_EQ(lines.tokens[i], bert.token(static_cast<std::int32_t>(i)));
}

}  // namespace
