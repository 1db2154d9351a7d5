// Model folders and GGUF files that a test changes and writes to a folder of its own.
#pragma once

#include <ashlar/weights/json.hpp>
#include <ashlar/weights/mapped_file.hpp>
#include <ashlar/weights/safetensors_writer.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "weights/build_files.hpp"

namespace models_test {

using ashlar::index_t;
using Floats = std::vector<float>;

inline std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string("ashlar_") + test->test_suite_name() + "_" + test->name();
    for (char& c : name)
      if (c == '/') c = '_';
    name += "_" + std::to_string(std::random_device{}());  // other programs may run the same test
    path_ = (std::filesystem::temp_directory_path() / name).string();
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct Tensor {
  std::vector<index_t> shape;
  Floats values;
};
using Tensors = std::map<std::string, Tensor>;
/// The members of a config.json, each as the text of its value.
using Config = std::map<std::string, std::string>;

inline std::string text_of(const ashlar::Json& json) {
  if (json.is_null()) return "null";
  if (json.is_bool()) return json.as_bool() ? "true" : "false";
  if (json.is_int()) return std::to_string(json.as_int());
  if (json.is_string()) return ashlar::detail::json_string(json.as_string());
  std::string text;
  if (json.is_number()) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17e", json.as_number());
    return digits;
  }
  if (json.is_array()) {
    for (const auto& item : json.items()) text += (text.empty() ? "" : ", ") + text_of(item);
    return "[" + text + "]";
  }
  for (const auto& member : json.members())
    text += (text.empty() ? "" : ", ") + ashlar::detail::json_string(member.name) + ": " +
            text_of(member.value);
  return "{" + text + "}";
}
inline std::string text_of(const Config& config) {
  std::string text;
  for (const auto& [key, value] : config)
    text += (text.empty() ? "" : ",\n  ") + ashlar::detail::json_string(key) + ": " + value;
  return "{\n  " + text + "\n}\n";
}

/// A folder of a Hugging Face model in memory.
struct Model {
  Config config;
  Tensors tensors;

  /// One of the golden models.
  static Model golden(const std::string& name) {
    const std::string folder = std::string(ASHLAR_TEST_DATA) + "/decoder/" + name;
    Model m;
    const auto json = ashlar::Json::parse(read_file(folder + "/config.json"), "config.json");
    for (const auto& member : json.members()) m.config[member.name] = text_of(member.value);
    const ashlar::SafetensorsFile file(folder + "/model.safetensors");
    for (const auto& tensor : file.tensors()) {
      Tensor& t = m.tensors[tensor.name];
      t = {tensor.shape, Floats(at(tensor.elements()))};
      read_f32(tensor, t.values);
    }
    return m;
  }
  void write_config(const std::string& folder) const {
    write_file(folder + "/config.json", text_of(config));
  }
  void write(const std::string& folder) const {
    write_config(folder);
    write_tensors(folder + "/model.safetensors", tensors);
  }
  static void write_tensors(const std::string& path, const Tensors& tensors) {
    std::vector<ashlar::TensorInfo> list;
    for (const auto& [name, t] : tensors)
      list.push_back(ashlar::describe_tensor(name, t.shape, std::span<const float>(t.values)));
    ashlar::write_safetensors(path, list);
  }
};

/// A GGUF file's keys and tensors in memory.
struct GgufParts {
  std::map<std::string, std::string> strings;
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, double> numbers;
  Tensors tensors;

  void write(const std::string& path) const {
    build::Gguf file;
    for (const auto& [key, text] : strings) file.entry(key, 8, build::gguf_string(text));
    for (const auto& [key, n] : integers) file.entry(key, 11, build::raw(n));
    for (const auto& [key, x] : numbers) file.entry(key, 12, build::raw(x));
    for (const auto& [name, t] : tensors) {
      file.data.resize((file.data.size() + 31) / 32 * 32);
      std::string header = build::gguf_string(name);
      header += build::raw(static_cast<std::uint32_t>(t.shape.size()));
      for (auto extent = t.shape.rbegin(); extent != t.shape.rend(); ++extent)
        header += build::raw(static_cast<std::uint64_t>(*extent));
      file.tensors += header + build::raw(std::uint32_t{0}) +
                      build::raw(static_cast<std::uint64_t>(file.data.size()));
      ++file.tensor_count;
      for (const float x : t.values) file.data += build::raw(x);
    }
    write_file(path, file.file());
  }
};

}  // namespace models_test
