#include <gtest/gtest.h>

#include <ashlar/weights/json.hpp>
#include <cmath>
#include <fstream>
#include <iterator>

#include "weights/build_files.hpp"

namespace {

using ashlar::Json;
using build::error_of;
using build::says;

Json parse(std::string_view text) { return Json::parse(text, "test"); }

TEST(Json, ReadsEveryKindOfValue) {
  const Json json = parse(R"( {"a": null, "b": true, "c": false, "d": -12, "e": 0.5,
                               "f": "text", "g": [1, [], {}], "h": {"i": {"j": 3}}} )");
  EXPECT_TRUE(json.at("a").is_null());
  EXPECT_TRUE(json.at("b").as_bool());
  EXPECT_FALSE(json.at("c").as_bool());
  EXPECT_EQ(json.at("d").as_int(), -12);
  EXPECT_EQ(json.at("d").as_number(), -12.0);
  EXPECT_EQ(json.at("e").as_number(), 0.5);
  EXPECT_EQ(json.at("f").as_string(), "text");
  EXPECT_EQ(json.at("g").items().size(), 3u);
  EXPECT_TRUE(json.at("g").items()[1].is_array());
  EXPECT_TRUE(json.at("g").items()[2].is_object());
  EXPECT_EQ(json.at("h").at("i").at("j").as_int(), 3);
  EXPECT_EQ(json.find("z"), nullptr);
}

TEST(Json, KeepsTheOrderOfMembers) {
  std::string order;
  const Json json = parse(R"({"z":1,"a":2,"m":3,"":4})");
  for (const Json::Member& member : json.members()) order += member.name + ";";
  EXPECT_EQ(order, "z;a;m;;");
}

TEST(Json, KeepsIntegersExactAndOnlyThose) {
  EXPECT_EQ(parse("9223372036854775807").as_int(), INT64_MAX);
  EXPECT_EQ(parse("-9223372036854775808").as_int(), INT64_MIN);
  EXPECT_EQ(parse("9007199254740993").as_int(), 9007199254740993);  // not a double
  for (const char* text : {"9223372036854775808", "1e2", "2.0", "100000000000000000000000"}) {
    EXPECT_TRUE(parse(text).is_number()) << text;
    EXPECT_FALSE(parse(text).is_int()) << text;
    EXPECT_TRUE(says(error_of([&] { parse(text).as_int("length"); }),
                     "length is a decimal number, expected a 64-bit integer"));
  }
  EXPECT_EQ(parse("1e-05").as_number(), 1e-5);
  EXPECT_EQ(parse("1.7976931348623157E+308").as_number(), 1.7976931348623157e308);
}

TEST(Json, ReadsTheInfinitiesThatPythonWrites) {
  const Json json = parse("[Infinity, -Infinity, NaN]");
  EXPECT_EQ(json.items()[0].as_number(), HUGE_VAL);
  EXPECT_EQ(json.items()[1].as_number(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(json.items()[2].as_number()));
}

TEST(Json, DecodesEscapes) {
  EXPECT_EQ(parse(R"("\"\\\/\b\f\n\r\t")").as_string(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(parse(R"("\u0041\u00e9\u20AC\ud83d\ude00")").as_string(),
            "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(parse(R"("a\u0000b")").as_string(), std::string("a\0b", 3));
  EXPECT_EQ(parse("\"\xf0\x9f\x98\x80\"").as_string(), "\xf0\x9f\x98\x80");
}

TEST(Json, RefusesMalformedTextNamingTheByte) {
  const struct {
    std::string_view text, message;
  } cases[] = {
      {"", "test: JSON: byte 0: expected a value, got the end"},
      {"  ", "byte 2: expected a value, got the end"},
      {"{", "byte 1: expected a name in quotes, got the end"},
      {"{\"a\"", "byte 4: expected \":\", got the end"},
      {"{\"a\":", "byte 5: expected a value, got the end"},
      {"{\"a\":1", "byte 6: expected \",\" or \"}\", got the end"},
      {"{\"a\":1,}", "byte 7: expected a name in quotes"},
      {"{a:1}", "byte 1: expected a name in quotes, got \"a\""},
      {"{'a':1}", "byte 1: expected a name in quotes"},
      {"[1", "byte 2: expected \",\" or \"]\", got the end"},
      {"[1,]", "byte 3: expected a value, got \"]\""},
      {"[1 2]", "byte 3: expected \",\" or \"]\", got \"2\""},
      {"1 2", "byte 2: expected the end, got \"2\""},
      {"{} x", "byte 3: expected the end, got \"x\""},
      {"nul", "byte 0: expected a value"},
      {"nullx", "byte 4: expected the end"},
      {"01", "byte 1: expected the end"},
      {"+1", "byte 0: expected a value, got \"+\""},
      {"-", "byte 1: expected a digit"},
      {"-a", "byte 1: expected a digit, got \"a\""},
      {"1.", "byte 2: expected a digit"},
      {".5", "byte 0: expected a value"},
      {"1e", "byte 2: expected a digit"},
      {"1e+", "byte 3: expected a digit"},
      {"0x10", "byte 1: expected the end"},
      {"1e999", "number outside the range of a double"},
      {"\"abc", "byte 4: expected a character of a string, got the end"},
      {"\"a\nb\"", "byte 2: expected a character of a string"},
      {"\"\\x\"", "byte 2: expected an escape character, got \"x\""},
      {"\"\\", "byte 2: expected an escape character, got the end"},
      {"\"\\u12\"", "cut \\u escape"},
      {"\"\\u12x4\"", "\\u needs four hex digits"},
      {"\"\\u-123\"", "\\u needs four hex digits"},
      {"\"\\ud83d\"", "half of a surrogate pair"},
      {"\"\\ud83d\\u0041\"", "half of a surrogate pair"},
      {"\"\\ude00\"", "half of a surrogate pair"},
      {"// no\n1", "byte 0: expected a value"},
  };
  for (const auto& c : cases)
    EXPECT_TRUE(says(error_of([&] { parse(c.text); }), c.message)) << c.text;
}

TEST(Json, RefusesTextThatIsNotUtf8) {
  for (const std::string_view bad :
       {"\x80", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xc3("})
    EXPECT_TRUE(says(error_of([&] { parse("\"" + std::string(bad) + "\""); }),
                     "test: JSON: byte 1: not UTF-8"));
  for (const std::string_view good : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                      "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(parse("\"" + std::string(good) + "\"").as_string(), good);
}

TEST(Json, RefusesDuplicateKeys) {
  EXPECT_TRUE(says(error_of([] { parse(R"({"a":1,"b":2,"a":3})"); }), "duplicate key \"a\""));
  EXPECT_TRUE(says(error_of([] { parse(R"({"a":{"c":1,"\u0063":2}})"); }), "duplicate key \"c\""));
  EXPECT_EQ(parse(R"({"a":{"a":1},"b":{"a":2}})").at("b").at("a").as_int(), 2);
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_TRUE(parse(std::string(64, '[') + std::string(64, ']')).is_array());
  EXPECT_TRUE(says(error_of([] { parse(std::string(100000, '[')); }), "nested deeper than 64"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(says(error_of([&] { parse(objects); }), "nested deeper than 64"));
}

TEST(Json, AccessorsNameWhatTheyGotAndExpected) {
  const Json json = parse(R"({"s":"x","n":1})"), null;
  EXPECT_TRUE(says(error_of([&] { json.at("missing", "config.json"); }),
                   "config.json has no key \"missing\""));
  EXPECT_TRUE(says(error_of([&] { json.at("s").as_int("hidden_size"); }),
                   "hidden_size is a string, expected a 64-bit integer"));
  EXPECT_TRUE(says(error_of([&] { json.at("s").as_number(); }), "is a string, expected a number"));
  EXPECT_TRUE(
      says(error_of([&] { json.at("n").as_string(); }), "is an integer, expected a string"));
  EXPECT_TRUE(says(error_of([&] { json.at("n").as_bool(); }), "is an integer, expected true or"));
  EXPECT_TRUE(says(error_of([&] { json.as_int(); }), "is an object, expected a 64-bit integer"));
  EXPECT_TRUE(says(error_of([&] { json.items(); }), "is an object, expected an array"));
  EXPECT_TRUE(says(error_of([&] { null.members(); }), "is null, expected an object"));
  EXPECT_TRUE(says(error_of([&] { json.at("n").find("a"); }), "expected an object"));
}

TEST(Json, CopiesStayValid) {
  Json copy;
  {
    const Json json = parse(R"({"one":1,"a rather long name that needs the heap":{"x":[2]}})");
    copy = json;
  }
  EXPECT_EQ(copy.at("one").as_int(), 1);
  EXPECT_EQ(copy.at("a rather long name that needs the heap").at("x").items()[0].as_int(), 2);
}

TEST(Json, FindsEachOfManyKeys) {
  constexpr int count = 200000;  // a quadratic check for duplicates would take minutes
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i ? ",\"k" : "\"k") + std::to_string((i * 7919LL) % count) + "\":" + std::to_string(i);
  const Json json = parse(text + "}");
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(json.at("k" + std::to_string((i * 7919LL) % count)).as_int(), i);
}

TEST(Json, ReadsAModelConfiguration) {
  std::ifstream file(ASHLAR_TEST_DATA "/decoder/llama2/config.json", std::ios::binary);
  if (!file) GTEST_SKIP() << "no decoder/llama2";
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const Json json = parse(text);
  EXPECT_EQ(json.at("model_type").as_string(), "llama");
  EXPECT_EQ(json.at("architectures").items()[0].as_string(), "LlamaForCausalLM");
  EXPECT_EQ(json.at("hidden_size").as_int(), 36);
  EXPECT_EQ(json.at("rms_norm_eps").as_number(), 0.002);
  EXPECT_EQ(json.at("rope_parameters").at("rope_theta").as_number(), 700.0);
  EXPECT_FALSE(json.at("tie_word_embeddings").as_bool());
}

}  // namespace
