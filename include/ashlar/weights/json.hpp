// JSON values and a strict parser (RFC 8259), for config.json, safetensors headers and shard lists.
#pragma once

#include <ashlar/weights/bytes.hpp>
#include <ashlar/weights/name_index.hpp>
#include <charconv>
#include <variant>

namespace ashlar::inline ASHLAR_ABI {
namespace detail {
class JsonParser;

/// Position of the first byte that is not UTF-8, or text.size(). Refuses overlong forms,
/// surrogates and code points above U+10FFFF.
inline std::size_t find_invalid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || !fits(length, i, text.size())) return i;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    const unsigned second = length > 2 ? byte(i + 1) : 0;
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
      return i;
    i += length;
  }
  return i;
}
}  // namespace detail

/// A JSON value. Numbers without fraction and exponent that fit stay exact 64-bit integers, all
/// others are doubles. Members keep the order of the text. The accessors throw FileError naming
/// what was got and expected; `what` names the value in that message.
class Json {
 public:
  struct Member;  // name and value

  Json() = default;

  /// Parses one value that fills the text. Beyond RFC 8259 it takes NaN, Infinity and -Infinity,
  /// which Python writes into configurations. Duplicate names, text that is not UTF-8 and nesting
  /// deeper than 64 are refused. Throws FileError with `what` and the byte.
  static Json parse(std::string_view text, std::string_view what);

  bool is_null() const { return holds<std::monostate>(); }
  bool is_bool() const { return holds<bool>(); }
  bool is_int() const { return holds<std::int64_t>(); }
  bool is_number() const { return is_int() || holds<double>(); }
  bool is_string() const { return holds<std::string>(); }
  bool is_array() const { return holds<std::vector<Json>>(); }
  bool is_object() const { return holds<Object>(); }

  bool as_bool(std::string_view what = "value") const { return get<bool>(what, "true or false"); }
  std::int64_t as_int(std::string_view what = "value") const {
    return get<std::int64_t>(what, "a 64-bit integer");
  }
  double as_number(std::string_view what = "value") const {
    return is_int() ? static_cast<double>(as_int()) : get<double>(what, "a number");
  }
  const std::string& as_string(std::string_view what = "value") const {
    return get<std::string>(what, "a string");
  }
  /// The items of an array.
  const std::vector<Json>& items(std::string_view what = "value") const& {
    return get<std::vector<Json>>(what, "an array");
  }
  /// The members of an object, in the order of the text.
  const std::vector<Member>& members(std::string_view what = "value") const& {
    return get<Object>(what, "an object").members;
  }
  // A loop over the items or members of a temporary would outlive it.
  void items(std::string_view what = "value") const&& = delete;
  void members(std::string_view what = "value") const&& = delete;
  /// The value of a member, or null if there is none. Throws if this is not an object.
  const Json* find(std::string_view name, std::string_view what = "value") const;
  /// The value of a member. Throws if there is none.
  const Json& at(std::string_view name, std::string_view what = "value") const;

  /// "null", "a boolean", "an integer" ... for messages.
  std::string_view kind() const {
    constexpr std::string_view names[] = {"null",     "a boolean", "an integer", "a decimal number",
                                          "a string", "an array",  "an object"};
    return names[value_.index()];
  }

 private:
  friend class detail::JsonParser;
  struct Object {
    std::vector<Member> members;
    NameIndex index;
  };

  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T& get(std::string_view what, std::string_view expected) const {
    const T* value = std::get_if<T>(&value_);
    if (!value) fail<FileError>(what, " is ", kind(), ", expected ", expected);
    return *value;
  }

  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Json>, Object>
      value_;
};

struct Json::Member {
  std::string name;
  Json value;
};

inline const Json* Json::find(std::string_view name, std::string_view what) const {
  const Object& object = get<Object>(what, "an object");
  const Member* member = object.index.find(object.members, name);
  return member ? &member->value : nullptr;
}
inline const Json& Json::at(std::string_view name, std::string_view what) const {
  const Json* value = find(name, what);
  if (!value) fail<FileError>(what, " has no key ", detail::quote(name));
  return *value;
}

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
        json.value_ = object(depth);
        break;
      case '[':
        json.value_ = array(depth);
        break;
      case '"':
        json.value_ = string();
        break;
      default:
        scalar(json);
    }
    return json;
  }

  Json::Object object(int depth) {
    Json::Object object;
    ++position_;
    if (accept('}')) return object;
    do {
      if (peek() != '"') unexpected("a name in quotes");
      std::string name = string();
      expect(':', "\":\"");
      object.members.push_back({std::move(name), value(depth + 1)});
    } while (accept(','));
    expect('}', "\",\" or \"}\"");
    const std::size_t twice = object.index.build(object.members);
    if (twice != object.members.size())
      error(join("duplicate key ", quote(object.members[twice].name),
                 " in the object that ends here"));
    return object;
  }

  std::vector<Json> array(int depth) {
    std::vector<Json> items;
    ++position_;
    if (accept(']')) return items;
    do items.push_back(value(depth + 1));
    while (accept(','));
    expect(']', "\",\" or \"]\"");
    return items;
  }

  void scalar(Json& json) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (accept_word("null")) return;
    if (accept_word("true"))
      json.value_ = true;
    else if (accept_word("false"))
      json.value_ = false;
    else if (accept_word("NaN"))
      json.value_ = std::numeric_limits<double>::quiet_NaN();
    else if (accept_word("Infinity"))
      json.value_ = infinity;
    else if (accept_word("-Infinity"))
      json.value_ = -infinity;
    else
      number(json);
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
      json.value_ = integer;
      return;
    }
    double decimal = 0;
    if (std::from_chars(first, last, decimal).ec != std::errc())
      error("number outside the range of a double");
    json.value_ = decimal;
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
  static void append_utf8(std::string& text, unsigned c) {
    const auto put = [&](unsigned byte) { text += static_cast<char>(byte); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
      put(0xc0 | (c >> 6));
    } else if (c < 0x10000) {
      put(0xe0 | (c >> 12));
      put(0x80 | ((c >> 6) & 63));
    } else {
      put(0xf0 | (c >> 18));
      put(0x80 | ((c >> 12) & 63));
      put(0x80 | ((c >> 6) & 63));
    }
    put(0x80 | (c & 63));
  }

  std::string_view text_, what_;
  std::size_t position_ = 0;
};

}  // namespace detail

inline Json Json::parse(std::string_view text, std::string_view what) {
  return detail::JsonParser(text, what).document();
}

}  // namespace ashlar::inline ASHLAR_ABI
