// The SentencePiece tokenizer: merges by score, literal tokens, bytes, blanks in front.
#include "common/sentence_piece.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/message.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar::examples;
using Ids = std::vector<std::int32_t>;

/// 256 byte tokens (id = byte), then these normal pieces with their scores.
SentencePieceVocabulary toy(const std::vector<std::pair<std::string, double>>& pieces) {
  SentencePieceVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    const char* digits = "0123456789ABCDEF";
    vocabulary.tokens.push_back(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">");
  }
  vocabulary.types.assign(256, TokenType::byte);
  vocabulary.scores.assign(256, 0);
  for (const auto& [piece, score] : pieces) {
    vocabulary.tokens.push_back(piece);
    vocabulary.types.push_back(TokenType::normal);
    vocabulary.scores.push_back(score);
  }
  return vocabulary;
}

std::int32_t add_token(SentencePieceVocabulary& vocabulary, const std::string& text, int type) {
  vocabulary.tokens.push_back(text);
  vocabulary.types.push_back(type);
  vocabulary.scores.push_back(0);
  return static_cast<std::int32_t>(vocabulary.tokens.size()) - 1;
}

TEST(SentencePiece, HighestScoreMergesFirst) {
  const SentencePiece tokenizer(
      toy({{"a", -9}, {"b", -9}, {"c", -9}, {"ab", -2}, {"bc", -1}, {"abc", -3}, {"cc", -4}}));
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{261}));  // bc, then a + bc
  EXPECT_EQ(tokenizer.encode("aab"), (Ids{256, 259}));
  EXPECT_EQ(tokenizer.encode("ccc"), (Ids{262, 258}));  // leftmost first
  EXPECT_EQ(tokenizer.encode(""), Ids{});
  // Any two neighbours may merge, whatever pair the piece was learned from.
  const SentencePiece other(toy({{"a", -9}, {"b", -9}, {"aa", -1}, {"ab", -2}, {"aab", -3}}));
  EXPECT_EQ(other.encode("aab"), (Ids{260}));
}

TEST(SentencePiece, Blanks) {
  SentencePieceVocabulary vocabulary = toy({{"\u2581", -1}, {"a", -9}, {"\u2581a", -3}});
  const SentencePiece plain(vocabulary);
  EXPECT_EQ(plain.encode("a a"), (Ids{257, 258}));
  EXPECT_EQ(plain.encode("a\u2581a"), (Ids{257, 258}));  // cannot be told from a blank
  EXPECT_EQ(plain.decode(Ids{258, 256, 257}), " a a");
  EXPECT_EQ(plain.piece(258), " a");

  const std::int32_t end = add_token(vocabulary, "</s>", TokenType::control);
  const std::int32_t tab = add_token(vocabulary, "\t", TokenType::user_defined);
  vocabulary.add_space_prefix = true;
  const SentencePiece prefixed(vocabulary);
  EXPECT_EQ(prefixed.encode(""), Ids{});
  EXPECT_EQ(prefixed.encode("a"), (Ids{258}));
  EXPECT_EQ(prefixed.encode(" a"), (Ids{256, 258}));
  EXPECT_EQ(prefixed.encode("a</s>a\ta"), (Ids{258, end, 258, tab, 257}));
  for (const std::string text : {"", "a", " a", "  a </s> a</s>\ta\t", "</s></s>a"})
    EXPECT_EQ(prefixed.decode(prefixed.encode(text)), text);
}

TEST(SentencePiece, BytesOfWhatIsNoToken) {
  SentencePieceVocabulary vocabulary = toy({{"a", -1}, {"é", -2}});
  EXPECT_EQ(SentencePiece(vocabulary).encode("aéö\xFF\n"), (Ids{256, 257, 0xC3, 0xB6, 0xFF, '\n'}));
  EXPECT_EQ(SentencePiece(vocabulary).piece(0xC3), "\xC3");
  // Without a token for one of its bytes a character is unknown as a whole.
  vocabulary.tokens[0xB6] = "(none)";
  vocabulary.types[0xB6] = TokenType::normal;
  EXPECT_EQ(SentencePiece(vocabulary).encode("aöä"), (Ids{256, 0xC3, 0xA4}));
  vocabulary.unknown = add_token(vocabulary, "<unk>", TokenType::unknown);
  EXPECT_EQ(SentencePiece(vocabulary).encode("aöä"), (Ids{256, 258, 0xC3, 0xA4}));
  EXPECT_EQ(SentencePiece(vocabulary).encode("<unk>").size(), 5u);  // the text means no token
}

TEST(SentencePiece, OnlyNormalTokensAreMade) {
  SentencePieceVocabulary vocabulary = toy({{"a", -1}});
  for (const int type : {TokenType::control, TokenType::unknown, TokenType::unused})
    add_token(vocabulary, "aa", type);
  EXPECT_EQ(SentencePiece(vocabulary).encode("aa", {.parse_special = false}), (Ids{256, 256}));
}

TEST(SentencePiece, LiteralTokens) {
  SentencePieceVocabulary vocabulary = toy({{"a", -9}, {"<", -9}, {" a", -1}, {"\u2581", -1}});
  const std::int32_t one = add_token(vocabulary, "  ", TokenType::user_defined);
  const std::int32_t two = add_token(vocabulary, "   ", TokenType::user_defined);
  const std::int32_t end = add_token(vocabulary, "<a>", TokenType::control);
  const SentencePiece tokenizer(vocabulary);
  EXPECT_EQ(tokenizer.encode("a    a"), (Ids{256, two, 258}));  // longest first, then " a"
  EXPECT_EQ(tokenizer.encode("  a"), (Ids{one, 256}));
  EXPECT_EQ(tokenizer.encode("<<a>"), (Ids{257, end}));
  EXPECT_EQ(tokenizer.encode("<a>", {.parse_special = false}), (Ids{257, 256, '>'}));
}

TEST(SentencePiece, SameAsMergingOnePairAtATime) {
  support::Random random(5);
  SCOPED_TRACE(random.seed());
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::pair<std::string, double>> pieces = {{"a", -50}, {"é", -51}, {"\u2581", -52}};
    std::map<std::string, std::pair<double, std::int32_t>> table = {
        {"a", {-50, 256}}, {"é", {-51, 257}}, {"\u2581", {-52, 258}}};
    for (int m = 0; m < 25; ++m) {
      const auto pick = [&] {
        return pieces[static_cast<std::size_t>(
                          random.integer(0, static_cast<std::ptrdiff_t>(pieces.size()) - 1))]
            .first;
      };
      const std::string piece = pick() + pick();
      const double score = static_cast<double>(-random.integer(0, 9));  // many are equal
      const auto id = static_cast<std::int32_t>(256 + pieces.size());
      if (piece.size() <= 12 && table.emplace(piece, std::pair(score, id)).second)
        pieces.emplace_back(piece, score);
    }
    std::string text;
    std::vector<std::string> parts;
    for (int i = 0; i < 60; ++i) {
      const auto letter = random.integer(0, 2);
      text += letter == 0 ? "a" : letter == 1 ? "é" : " ";
      parts.emplace_back(letter == 0 ? "a" : letter == 1 ? "é" : "\u2581");
    }
    for (;;) {
      std::size_t at = parts.size();
      double best = -HUGE_VAL;
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = table.find(parts[i] + parts[i + 1]);
        if (found == table.end() || found->second.first <= best) continue;
        best = found->second.first;
        at = i;
      }
      if (at == parts.size()) break;
      parts[at] += parts[at + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    Ids expected;
    for (const std::string& part : parts) expected.push_back(table.at(part).second);
    const SentencePiece tokenizer(toy(pieces));
    ASSERT_EQ(tokenizer.encode(text), expected) << text;
    ASSERT_EQ(tokenizer.decode(expected), text);
  }
}

TEST(SentencePiece, LongTextIsNotQuadratic) {
  const SentencePiece tokenizer(toy({{"a", -9}, {"aa", -1}, {"aaaa", -2}, {"aaaaaaaa", -3}}));
  EXPECT_EQ(tokenizer.encode(std::string(1000000, 'a')), Ids(125000, 259));
}

TEST(SentencePiece, RoundTripOfAnyBytes) {
  support::Random random(6);
  SCOPED_TRACE(random.seed());
  SentencePieceVocabulary vocabulary = toy({{"\u2581", -3}, {"t", -2}, {"\u2581t", -1}});
  add_token(vocabulary, "<end>", TokenType::control);
  add_token(vocabulary, "  ", TokenType::user_defined);
  for (const bool prefix : {false, true}) {
    vocabulary.add_space_prefix = prefix;
    const SentencePiece tokenizer(vocabulary);
    std::string bytes = "<end> t  t";
    for (const std::uint8_t byte : random.bytes(4096)) bytes += static_cast<char>(byte);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
  }
}

TEST(SentencePiece, Errors) {
  const auto error = [](auto&& change) {
    SentencePieceVocabulary vocabulary = toy({{"a", -1}});
    change(vocabulary);
    return support::message_of<ashlar::ValueError>([&] { SentencePiece{vocabulary}; });
  };
  EXPECT_EQ(error([](auto& v) { v.scores.pop_back(); }), "got 256 token scores for 257 tokens");
  EXPECT_EQ(error([](auto& v) { v.types.pop_back(); }), "got 256 token types for 257 tokens");
  EXPECT_EQ(error([](auto& v) { v.scores[256] = NAN; }), "the score of token 256 is NaN");
  EXPECT_EQ(error([](auto& v) { v.bos = 257; }),
            "bos token id 257 is outside the vocabulary of 257 tokens");
  for (const std::string byte : {"", "<0x>", "<0xG0>", "<0x0G>", "0x0A", "<0x0A> ", "<0x-1>"})
    EXPECT_EQ(error([&](auto& v) { v.tokens[10] = byte; }),
              "a byte token is \"" + byte + "\", expected two hex digits as in \"<0x0A>\"");
  const SentencePiece tokenizer(toy({}));
  for (const std::int32_t id : {-1, 256})
    EXPECT_EQ(support::message_of<ashlar::ValueError>([&] { (void)tokenizer.decode(Ids{id}); }),
              "token id " + std::to_string(id) + " is outside the vocabulary of 256 tokens");
}

}  // namespace
