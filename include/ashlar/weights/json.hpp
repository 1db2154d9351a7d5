// A strict parser of JSON (RFC 8259), for config.json, safetensors headers and shard lists.
#pragma once

#include <ashlar/core/utf8.hpp>
#include <ashlar/weights/json_value.hpp>
#include <charconv>

namespace ashlar::inline ASHLAR_ABI {
namespace detail {

class JsonParser {
 public:
  JsonParser(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Json document() {
    if (const std::size_t bad = find_invalid_utf8(text_); bad != text_.size()) {
      position_ = bad;
      error("not UTF-8");
    }
    Json json = value(0);
    if (peek() != end) unexpected("the end");
    return json;
  }

 private:
  static constexpr int end = -1, depth_limit = 64;

  [[noreturn]] void error(std::string_view problem) const {
    fail<FileError>(what_, ": JSON: byte ", position_, ": ", problem);
  }
  [[noreturn]] void unexpected(std::string_view expected) const {
    const std::string got =
        position_ < text_.size() ? quote(text_.substr(position_, 1)) : "the end";
    error(join("expected ", expected, ", got ", got));
  }

  int here() const {
    return position_ < text_.size() ? static_cast<unsigned char>(text_[position_]) : end;
  }
  int peek() {
    while (here() == ' ' || here() == '\n' || here() == '\r' || here() == '\t') ++position_;
    return here();
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c, std::string_view name) {
    if (!accept(c)) unexpected(name);
  }
  bool accept_word(std::string_view word) {
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  Json value(int depth) {
    if (depth > depth_limit) error("nested deeper than 64");
    Json json;
    switch (peek()) {
      case '{':
        object(json, depth);
        break;
      case '[':
        array(json, depth);
        break;
      case '"':
        json.kind_ = Json::Kind::string;
        json.text_ = string();
        break;
      default:
        scalar(json);
    }
    return json;
  }

  void object(Json& object, int depth) {
    object.kind_ = Json::Kind::object;
    ++position_;
    if (accept('}')) return;
    std::vector<Json::Member>& members = object.members_;
    do {
      if (peek() != '"') unexpected("a name in quotes");
      members.emplace_back().name = string();
      expect(':', "\":\"");
      members.back().value = value(depth + 1);
    } while (accept(','));
    expect('}', "\",\" or \"}\"");
    const std::size_t twice = object.index_.build(members);
    if (twice != members.size())
      error(join("duplicate key ", quote(members[twice].name), " in the object that ends here"));
  }

  void array(Json& array, int depth) {
    array.kind_ = Json::Kind::array;
    ++position_;
    if (accept(']')) return;
    do array.items_.push_back(value(depth + 1));
    while (accept(','));
    expect(']', "\",\" or \"]\"");
  }

  void scalar(Json& json) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (accept_word("null")) return;
    if (accept_word("true"))
      set_bool(json, true);
    else if (accept_word("false"))
      set_bool(json, false);
    else if (accept_word("NaN"))
      set_decimal(json, std::numeric_limits<double>::quiet_NaN());
    else if (accept_word("Infinity"))
      set_decimal(json, infinity);
    else if (accept_word("-Infinity"))
      set_decimal(json, -infinity);
    else
      number(json);
  }
  static void set_bool(Json& json, bool value) {
    json.kind_ = Json::Kind::boolean;
    json.integer_ = value;
  }
  static void set_decimal(Json& json, double value) {
    json.kind_ = Json::Kind::decimal;
    json.decimal_ = value;
  }

  void digits() {
    if (here() < '0' || here() > '9') unexpected("a digit");
    while (here() >= '0' && here() <= '9') ++position_;
  }
  void number(Json& json) {
    const std::size_t begin = position_;
    if (here() == '-')
      ++position_;
    else if (here() < '0' || here() > '9')
      unexpected("a value");
    if (here() == '0')
      ++position_;
    else
      digits();
    bool whole = true;
    if (here() == '.') {
      whole = false;
      ++position_;
      digits();
    }
    if (here() == 'e' || here() == 'E') {
      whole = false;
      ++position_;
      if (here() == '+' || here() == '-') ++position_;
      digits();
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + position_;
    std::int64_t integer = 0;
    if (whole && std::from_chars(first, last, integer).ec == std::errc()) {
      json.kind_ = Json::Kind::integer;
      json.integer_ = integer;
      return;
    }
    double decimal = 0;
    if (std::from_chars(first, last, decimal).ec != std::errc())
      error("number outside the range of a double");
    set_decimal(json, decimal);
  }

  std::string string() {
    std::string result;
    ++position_;
    for (;;) {
      const std::size_t begin = position_;
      while (here() >= 0x20 && here() != '"' && here() != '\\') ++position_;
      result.append(text_.substr(begin, position_ - begin));
      if (here() == '"') break;
      if (here() != '\\') unexpected("a character of a string");
      ++position_;
      escape(result);
    }
    ++position_;
    return result;
  }

  void escape(std::string& result) {
    constexpr std::string_view codes = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
    if (here() == 'u') {
      ++position_;
      append_utf8(result, code_point());
      return;
    }
    const std::size_t i = here() == end ? codes.npos : codes.find(text_[position_]);
    if (i == codes.npos) unexpected("an escape character");
    result += values[i];
    ++position_;
  }
  unsigned hex4() {
    unsigned unit = 0;
    if (!fits(4, position_, text_.size())) error("cut \\u escape");
    const char* first = text_.data() + position_;
    if (std::from_chars(first, first + 4, unit, 16).ptr != first + 4)
      error("\\u needs four hex digits");
    position_ += 4;
    return unit;
  }
  unsigned code_point() {
    const unsigned high = hex4();
    if (high < 0xd800 || high > 0xdfff) return high;
    if (high > 0xdbff || !accept_word("\\u")) error("half of a surrogate pair");
    const unsigned low = hex4();
    if (low < 0xdc00 || low > 0xdfff) error("half of a surrogate pair");
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  }

  std::string_view text_, what_;
  std::size_t position_ = 0;
};

}  // namespace detail

inline Json Json::parse(std::string_view text, std::string_view what) {
  return detail::JsonParser(text, what).document();
}

}  // namespace ashlar::inline ASHLAR_ABI
