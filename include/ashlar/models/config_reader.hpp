// ConfigReader: Hugging Face's config.json, with errors that name key and value.
#pragma once

#include <ashlar/weights/json.hpp>
#include <ashlar/weights/mapped_file.hpp>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// An object of a configuration. A key that is null counts as absent; without a fallback an absent
/// key is an error.
class ConfigReader {
 public:
  explicit ConfigReader(const std::string& path) : path_(path) {
    const MappedFile file(path);
    document_ = std::make_shared<const Json>(Json::parse(detail::as_text(file.bytes()), path));
    json_ = document_.get();
  }

  const std::string& path() const { return path_; }
  bool empty() const { return json_->members(path_).empty(); }
  bool has(std::string_view key) const { return value(key) != nullptr; }
  /// Whether a key is there and null: "none", where the absent key means a default.
  bool is_null(std::string_view key) const {
    const Json* v = json_->find(key, path_);
    return v && v->is_null();
  }

  index_t integer(std::string_view key) const { return required(key).as_int(what(key)); }
  index_t integer(std::string_view key, index_t fallback) const {
    const Json* v = value(key);
    return v ? v->as_int(what(key)) : fallback;
  }
  /// An integer in [low, high].
  index_t size(std::string_view key, index_t fallback = -1, index_t low = 1,
               index_t high = index_t{1} << 31) const {
    const index_t n = fallback < 0 ? integer(key) : integer(key, fallback);
    if (n < low || n > high)
      fail<ValueError>(what(key), " is ", n, ", expected ", low, " to ", high);
    return n;
  }
  double number(std::string_view key) const { return required(key).as_number(what(key)); }
  double number(std::string_view key, double fallback) const {
    const Json* v = value(key);
    return v ? v->as_number(what(key)) : fallback;
  }
  /// A finite number above 0.
  double positive(std::string_view key) const {
    const double x = number(key);
    if (!(x > 0) || !std::isfinite(x))
      fail<ValueError>(what(key), " is ", x, ", expected a finite number above 0");
    return x;
  }
  double positive(std::string_view key, double fallback) const {
    return has(key) ? positive(key) : fallback;
  }
  bool boolean(std::string_view key, bool fallback) const {
    const Json* v = value(key);
    return v ? v->as_bool(what(key)) : fallback;
  }
  bool is_string(std::string_view key) const {
    const Json* v = value(key);
    return v && v->is_string();
  }
  std::string string(std::string_view key) const { return required(key).as_string(what(key)); }
  std::string string(std::string_view key, std::string_view fallback) const {
    const Json* v = value(key);
    return v ? v->as_string(what(key)) : std::string(fallback);
  }
  /// The array under a key, each element read by f(element, name of it); empty without the key.
  template <class F>
  auto list(std::string_view key, F&& f) const {
    std::vector<std::decay_t<decltype(f(std::declval<const Json&>(), std::string()))>> values;
    if (const Json* v = value(key))
      for (const Json& item : v->items(what(key)))
        values.push_back(f(item, join(what(key), "[", values.size(), "]")));
    return values;
  }
  /// Calls f(name, value, name of it) for the members of the object under a key, if it is there.
  template <class F>
  void for_each_member(std::string_view key, F&& f) const {
    if (const Json* v = value(key))
      for (const auto& member : v->members(what(key)))
        f(member.name, member.value, join(what(key), ".", member.name));
  }
  std::vector<std::string> strings(std::string_view key) const {
    return list(key, [](const Json& j, const std::string& name) { return j.as_string(name); });
  }
  std::vector<double> numbers(std::string_view key) const {
    return list(key, [](const Json& j, const std::string& name) { return j.as_number(name); });
  }
  /// The object under a key, if there is one.
  std::optional<ConfigReader> object(std::string_view key) const {
    const Json* v = value(key);
    if (v == nullptr) return std::nullopt;
    if (!v->is_object()) fail<FileError>(what(key), ": expected an object");
    return ConfigReader(what(key), document_, v);
  }
  /// Throws ValueError: a value that is understood but not supported.
  [[noreturn]] void refuse(std::string_view key, std::string_view got,
                           std::string_view expected) const {
    fail<ValueError>(what(key), " is ", detail::quote(got), ", supported: ", expected);
  }
  std::string what(std::string_view key) const { return join(path_, ": ", key); }

 private:
  ConfigReader(std::string path, std::shared_ptr<const Json> document, const Json* json)
      : path_(std::move(path)), document_(std::move(document)), json_(json) {}
  const Json* value(std::string_view key) const {
    const Json* v = json_->find(key, path_);
    return v && !v->is_null() ? v : nullptr;
  }
  const Json& required(std::string_view key) const {
    const Json* v = value(key);
    if (v == nullptr) fail<FileError>(path_, ": has no key \"", key, "\"");
    return *v;
  }

  std::string path_;
  std::shared_ptr<const Json> document_;  // of which this is a part
  const Json* json_ = nullptr;
};

}  // namespace ashlar::inline ASHLAR_ABI
