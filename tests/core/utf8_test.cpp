// printable: what of a text reaches a terminal. UTF-8 itself is tested with JSON.
#include <gtest/gtest.h>

#include <ashlar/core/utf8.hpp>

namespace {

using ashlar::detail::printable;
using namespace std::string_view_literals;

TEST(Printable, KeepsTextOfAnyLanguage) {
  for (const std::string_view text :
       {""sv, "a \"b\" \\"sv, "\xc3\xa9\xe2\x82\xac"sv, "\xf0\x9f\x98\x80"sv, "\xc2\xa0"sv})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ShowsControlCharactersByNumber) {
  EXPECT_EQ(printable("a\0b"sv), "a\\x00b");
  EXPECT_EQ(printable("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m"),
            "\\xc2\\x9b1m");  // the control sequence as one character
  EXPECT_EQ(printable("a\nb\rc\t"), "a\\x0ab\\x0dc\\x09");
  EXPECT_EQ(printable("a\nb\rc", true), "a\nb\\x0dc");
}

TEST(Printable, ShowsWhatIsNotUtf8ByNumber) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                    // cut
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xc3\xa9\xa9"), "\xc3\xa9\\xa9");
}

}  // namespace
