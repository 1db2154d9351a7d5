// Json: a value of a JSON text. Json::parse is in json.hpp.
#pragma once

#include <ashlar/weights/bytes.hpp>
#include <ashlar/weights/name_index.hpp>

namespace ashlar::inline ASHLAR_ABI {
namespace detail {
class JsonParser;
}

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

  bool is_null() const { return kind_ == Kind::null; }
  bool is_bool() const { return kind_ == Kind::boolean; }
  bool is_int() const { return kind_ == Kind::integer; }
  bool is_number() const { return is_int() || kind_ == Kind::decimal; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }

  bool as_bool(std::string_view what = "value") const {
    expect(is_bool(), what, "true or false");
    return integer_ != 0;
  }
  std::int64_t as_int(std::string_view what = "value") const {
    expect(is_int(), what, "a 64-bit integer");
    return integer_;
  }
  double as_number(std::string_view what = "value") const {
    expect(is_number(), what, "a number");
    return is_int() ? static_cast<double>(integer_) : decimal_;
  }
  const std::string& as_string(std::string_view what = "value") const {
    expect(is_string(), what, "a string");
    return text_;
  }
  /// The items of an array.
  const std::vector<Json>& items(std::string_view what = "value") const& {
    expect(is_array(), what, "an array");
    return items_;
  }
  /// The members of an object, in the order of the text.
  const std::vector<Member>& members(std::string_view what = "value") const& {
    expect(is_object(), what, "an object");
    return members_;
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
    return names[static_cast<std::size_t>(kind_)];
  }

 private:
  friend class detail::JsonParser;
  enum class Kind { null, boolean, integer, decimal, string, array, object };

  void expect(bool right, std::string_view what, std::string_view expected) const {
    if (!right) fail<FileError>(what, " is ", kind(), ", expected ", expected);
  }

  // Of these the one that kind_ names; a std::variant would cost programs their build time.
  Kind kind_ = Kind::null;
  std::int64_t integer_ = 0;  // of a boolean too
  double decimal_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<Member> members_;
  NameIndex index_;  // of the members
};

struct Json::Member {
  std::string name;
  Json value;
};

inline const Json* Json::find(std::string_view name, std::string_view what) const {
  const Member* member = index_.find(members(what), name);
  return member ? &member->value : nullptr;
}
inline const Json& Json::at(std::string_view name, std::string_view what) const {
  const Json* value = find(name, what);
  if (!value) fail<FileError>(what, " has no key ", detail::quote(name));
  return *value;
}

}  // namespace ashlar::inline ASHLAR_ABI
