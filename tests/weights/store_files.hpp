// Files for the tests of WeightStore, and the values of what it loaded.
#pragma once

#include <ashlar/weights/safetensors.hpp>
#include <ashlar/weights/store.hpp>
#include <memory>

#include "build_files.hpp"

namespace store_test {

using namespace ashlar;
using Floats = std::vector<float>;

inline constexpr auto ignore_progress = [](index_t, index_t) {};

/// A safetensors file in memory. `shift` bytes in front of the header move all data.
class File {
 public:
  File& add(const std::string& name, const std::string& type, std::vector<index_t> shape,
            std::string_view bytes) {
    std::string extents;
    for (const index_t n : shape) extents += (extents.empty() ? "" : ",") + std::to_string(n);
    header_ += (header_.empty() ? "" : ",") + ("\"" + name) + "\":{\"dtype\":\"" + type +
               "\",\"shape\":[" + extents + "],\"data_offsets\":[" + std::to_string(data_.size()) +
               "," + std::to_string(data_.size() + bytes.size()) + "]}";
    data_ += bytes;
    return *this;
  }
  /// f32 values start, start + 1, ..
  File& count(const std::string& name, std::vector<index_t> shape, float start = 0) {
    std::string bytes;
    index_t n = 1;
    for (const index_t extent : shape) n *= extent;
    for (index_t i = 0; i < n; ++i) bytes += build::raw(start + static_cast<float>(i));
    return add(name, "F32", std::move(shape), bytes);
  }
  SafetensorsFile open(std::size_t spaces = 0) {
    const std::string header = "{" + header_ + "}" + std::string(spaces, ' ');
    memory_ = std::make_unique<build::Memory>(build::safetensors(header, data_));
    return SafetensorsFile(memory_->span(), "file");
  }

 private:
  std::string header_, data_;
  std::unique_ptr<build::Memory> memory_;
};

inline Floats values(const WeightMatrix& w) {
  Floats all(static_cast<std::size_t>(w.rows() * w.columns()));
  for (index_t n = 0; n < w.rows(); ++n) decode_row(w, n, all.data() + n * w.columns());
  return all;
}
inline Floats values(VectorView<const float> v) {
  Floats all;
  for (index_t i = 0; i < v.extent(0); ++i) all.push_back(v(i));
  return all;
}
inline Floats counted(index_t n, float start = 0) {
  Floats all;
  for (index_t i = 0; i < n; ++i) all.push_back(start + static_cast<float>(i));
  return all;
}

}  // namespace store_test
