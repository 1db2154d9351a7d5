// Golden values of a published model, which is not stored with them.
#pragma once

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "case.hpp"

namespace golden {

/// smollm2.safetensors is about the model that the environment variable ASHLAR_SMOLLM2 names.
class RealCase {
 public:
  RealCase(std::shared_ptr<const ashlar::SafetensorsFile> file, const std::string& name)
      : file_(std::move(file)), variable_("ASHLAR_" + name) {
    for (char& letter : variable_)
      letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }

  const std::string& variable() const { return variable_; }
  std::string model() const {
    const char* path = std::getenv(variable_.c_str());
    if (!path || !*path) throw Unsupported{"set " + variable_ + " to the model's file or folder"};
    return path;
  }
  bool has(const std::string& tensor) const { return file_->find(tensor) != nullptr; }
  template <class T>
  std::vector<T> values(const std::string& tensor) const {
    return read_values<T>(file_->at(tensor));
  }
  double metadata(std::string_view key) const {
    const auto found = file_->metadata().find(key);
    if (found == file_->metadata().end())
      ashlar::fail<ashlar::FileError>(file_->path(), ": no metadata ", key);
    return std::stod(found->second);
  }

 private:
  std::shared_ptr<const ashlar::SafetensorsFile> file_;
  std::string variable_;
};

}  // namespace golden
