#include <gtest/gtest.h>

#include <ashlar/core/error.hpp>

namespace {

using namespace ashlar;

TEST(Error, OneRoot) {
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
  static_assert(std::is_base_of_v<Error, ShapeError> && std::is_base_of_v<Error, ValueError> &&
                std::is_base_of_v<Error, FileError>);
  EXPECT_THROW(fail<ShapeError>("x"), ShapeError);
  EXPECT_THROW(fail<ValueError>("x"), Error);
  EXPECT_THROW(fail<FileError>("x"), std::runtime_error);
  EXPECT_THROW(fail("x"), Error);
  try {
    fail<ShapeError>("x");
  } catch (const ValueError&) {
    FAIL() << "a ShapeError is no ValueError";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "x");
  }
}
TEST(Error, MessagesJoinTextAndNumbers) {
  const std::string text = "text";
  const std::string_view view = std::string_view("views").substr(0, 4);
  EXPECT_EQ(join("a ", text, ' ' == ' ', " ", view, " ", -3, " ", std::uint64_t{1} << 63),
            "a texttrue view -3 9223372036854775808");
  EXPECT_EQ(join(0.5f, " ", 1e-6, " ", false), "0.5 1e-06 false");
  EXPECT_EQ(join(), "");
}
TEST(Error, MessagesArePrintable) {
  try {
    fail(std::string_view("a\0b\x1b[2J\xff", 8), "\n  more");
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "a\\x00b\\x1b[2J\\xff\n  more");
  }
}
TEST(Error, HandlerIsHandedBack) {
  const ErrorHandler mine = [](const char*) {};
  const ErrorHandler before = set_error_handler(mine);
  EXPECT_NE(before, nullptr);
  EXPECT_EQ(set_error_handler(nullptr), mine);
  EXPECT_EQ(set_error_handler(before), before) << "nullptr stands for the first one";
}

}  // namespace
