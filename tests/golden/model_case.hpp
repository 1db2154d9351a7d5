// One golden model: its configuration, weights and expected values.
#pragma once

#include <string>
#include <vector>

#include "case.hpp"

namespace golden {

/// Whether expected.safetensors has the format of encoder/: its metadata list the inputs. A file
/// that cannot be read has not, and is a test that says so.
inline bool is_encoder_case(const std::string& expected_file) {
  try {
    return ashlar::SafetensorsFile(expected_file).metadata().count("inputs") != 0;
  } catch (const ashlar::Error&) {
    return false;
  }
}

/// A folder with config.json, model.safetensors and expected.safetensors.
class ModelCase {
 public:
  explicit ModelCase(std::string folder)
      : folder_(std::move(folder)),
        config_(ashlar::Json::parse(text_of(folder_ + "/config.json"), folder_ + "/config.json")),
        expected_(folder_ + "/expected.safetensors") {}

  const std::string& folder() const { return folder_; }
  const ashlar::Json& config() const { return config_; }
  std::string family() const {
    const auto* type = config_.find("model_type");
    return type && type->is_string() ? type->as_string() : "(none)";
  }
  const ashlar::SafetensorsFile& expected() const { return expected_; }
  template <class T>
  std::vector<T> expected(std::string_view tensor) const {
    return read_values<T>(expected_.at(tensor));
  }
  /// B, T of input_ids.
  index_t sequences() const { return expected_.at("input_ids").shape.at(0); }
  index_t tokens() const { return expected_.at("input_ids").shape.at(1); }
  double metadata(std::string_view key) const {
    const auto found = expected_.metadata().find(key);
    return found == expected_.metadata().end() ? 0.0 : std::stod(found->second);
  }

  double number(std::string_view key, double otherwise) const {
    const auto* value = config_.find(key);
    return value && !value->is_null() ? value->as_number(key) : otherwise;
  }
  index_t integer(std::string_view key, index_t otherwise) const {
    return static_cast<index_t>(number(key, static_cast<double>(otherwise)));
  }
  /// The rule of rotary frequencies, "" where there is none.
  std::string rope_type() const {
    const auto* rope = config_.find("rope_parameters");
    const auto* type = rope && rope->is_object() ? rope->find("rope_type") : nullptr;
    return type ? type->as_string("rope_type") : "";
  }
  /// Whether calls shorter than the prompt turn queries and keys by other angles.
  bool angles_depend_on_length() const { return rope_type() == "dynamic"; }
  bool flag(std::string_view key) const {
    const auto* value = config_.find(key);
    return value && value->is_bool() && value->as_bool();
  }

 private:
  static std::string text_of(const std::string& path) {
    const ashlar::MappedFile file(path);
    return std::string(ashlar::detail::as_text(file.bytes()));
  }
  std::string folder_;
  ashlar::Json config_;
  ashlar::SafetensorsFile expected_;
};

}  // namespace golden
