// One golden case of an operation: tensors and settings by name, no size known by heart.
#pragma once

#include <ashlar/weights/safetensors.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace golden {

using ashlar::index_t;

/// Thrown for what the library cannot do yet: the case is then skipped by name with this reason.
struct Unsupported {
  std::string reason;
};

/// The elements of a tensor as T, whatever their type in the file; a 16-bit T must be that type.
template <class T>
std::vector<T> read_values(const ashlar::TensorInfo& tensor) {
  std::vector<T> values(static_cast<std::size_t>(tensor.elements()));
  const auto convert = [&]<class From>(From) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const From x = ashlar::load<From>(tensor.bytes.data() + i * sizeof(From));
      if constexpr (std::is_same_v<T, From>)
        values[i] = x;
      else if constexpr (std::is_arithmetic_v<T>)
        values[i] = static_cast<T>(x);
      else
        throw Unsupported{"tensor " + tensor.name + " is not stored in 16 bits"};
    }
  };
  using ashlar::DType;
  switch (tensor.dtype) {
    case DType::f64:
      convert(double{});
      break;
    case DType::f32:
      convert(float{});
      break;
    case DType::bf16:
      convert(ashlar::bfloat16{});
      break;
    case DType::f16:
      convert(ashlar::half{});
      break;
    case DType::i64:
      convert(std::int64_t{});
      break;
    case DType::i32:
      convert(std::int32_t{});
      break;
    case DType::boolean:
      convert(std::uint8_t{});
      break;
    default:
      throw Unsupported{"tensor " + tensor.name + " has type " + tensor.type_name};
  }
  return values;
}

/// Case `index` of a file of cases.
class OpCase {
 public:
  OpCase(std::shared_ptr<const ashlar::SafetensorsFile> file, std::string op, int index)
      : file_(std::move(file)), op_(std::move(op)), prefix_("case" + std::to_string(index)) {
    const auto settings = file_->metadata().find(prefix_);
    if (settings == file_->metadata().end())
      ashlar::fail<ashlar::FileError>(file_->path(), ": no settings of ", prefix_);
    settings_ = ashlar::Json::parse(settings->second, file_->path() + ": " + prefix_);
  }

  /// Name of the file without its extension.
  const std::string& op() const { return op_; }
  const std::string& name() const { return prefix_; }

  bool has(std::string_view tensor) const { return find(tensor) != nullptr; }
  template <class T>
  std::vector<T> values(std::string_view tensor) const {
    return read_values<T>(at(tensor));
  }
  /// Values, or nothing where the case has no such tensor.
  template <class T>
  std::vector<T> values_or_none(std::string_view tensor) const {
    return has(tensor) ? values<T>(tensor) : std::vector<T>();
  }
  const std::vector<index_t>& shape(std::string_view tensor) const { return at(tensor).shape; }
  const ashlar::TensorInfo& at(std::string_view tensor) const {
    if (const auto* t = find(tensor)) return *t;
    ashlar::fail<ashlar::FileError>(file_->path(), ": ", prefix_, " has no tensor ", tensor);
  }

  /// A setting that is there and not null.
  const ashlar::Json* setting(std::string_view key) const {
    const ashlar::Json* value = settings_.find(key);
    return value && !value->is_null() ? value : nullptr;
  }
  double number(std::string_view key, double otherwise) const {
    const auto* s = setting(key);
    return s ? s->as_number(key) : otherwise;
  }
  index_t integer(std::string_view key, index_t otherwise) const {
    const auto* s = setting(key);
    return s ? static_cast<index_t>(s->as_int(key)) : otherwise;
  }
  bool flag(std::string_view key) const {
    const auto* s = setting(key);
    return s && s->as_bool(key);
  }
  std::string text(std::string_view key, std::string_view otherwise) const {
    const auto* s = setting(key);
    return s ? s->as_string(key) : std::string(otherwise);
  }
  std::vector<index_t> integers(std::string_view key) const {
    std::vector<index_t> list;
    if (const auto* s = setting(key))
      for (const auto& item : s->items(key)) list.push_back(static_cast<index_t>(item.as_int(key)));
    return list;
  }
  std::vector<double> numbers(std::string_view key) const {
    std::vector<double> list;
    if (const auto* s = setting(key))
      for (const auto& item : s->items(key)) list.push_back(item.as_number(key));
    return list;
  }

  /// Refuses a case with a setting that this test does not look at: it would be ignored silently.
  void allow_settings(std::initializer_list<std::string_view> known) const {
    for (const auto& member : settings_.members(prefix_)) {
      bool found = member.value.is_null();
      for (const auto& key : known) found = found || key == member.name;
      if (!found) throw Unsupported{"setting \"" + member.name + "\" is not known to this test"};
    }
  }

 private:
  const ashlar::TensorInfo* find(std::string_view tensor) const {
    return file_->find(prefix_ + "." + std::string(tensor));
  }

  std::shared_ptr<const ashlar::SafetensorsFile> file_;
  std::string op_, prefix_;
  ashlar::Json settings_;
};

/// Allowed error of float results, as a share of the largest magnitude of the expected tensor. Huge
/// scores magnify the rounding of their own products.
inline double tolerance_factor(const OpCase& c) {
  const bool attention = c.op().starts_with("attention");
  return attention && c.number("gain", 1) >= 20 ? 2e-5 : 4e-6;
}

}  // namespace golden
