// Small weight files made by hand: knows the formats, but nothing of the readers.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/core/error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace build {

/// The little-endian bytes of a number.
template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
template <class T>
std::string raw_all(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) bytes += raw(value);
  return bytes;
}

inline std::string safetensors(std::string_view header, std::string_view data) {
  return raw(std::uint64_t{header.size()}) + std::string(header) + std::string(data);
}

inline std::string gguf_string(std::string_view text) {
  return raw(std::uint64_t{text.size()}) + std::string(text);
}

/// A GGUF file in parts. Counts follow the parts unless they are set.
struct Gguf {
  std::uint32_t version = 3;
  std::size_t alignment = 32;
  std::string entries, tensors, data;
  std::uint64_t entry_count = 0, tensor_count = 0;

  Gguf& entry(std::string_view key, std::uint32_t type, std::string_view value) {
    entries += gguf_string(key) + raw(type) + std::string(value);
    ++entry_count;
    return *this;
  }
  Gguf& array(std::string_view key, std::uint32_t element, std::uint64_t count,
              std::string_view values) {
    return entry(key, 9, raw(element) + raw(count) + std::string(values));
  }
  Gguf& tensor(std::string_view name, std::initializer_list<std::uint64_t> ne, std::uint32_t type,
               std::uint64_t offset) {
    tensors += gguf_string(name) + raw(static_cast<std::uint32_t>(ne.size())) + raw_all(ne) +
               raw(type) + raw(offset);
    ++tensor_count;
    return *this;
  }
  /// All before the data, without padding.
  std::string header() const {
    return "GGUF" + raw(version) + raw(tensor_count) + raw(entry_count) + entries + tensors;
  }
  std::string file() const {
    std::string bytes = header();
    bytes.append((alignment - bytes.size() % alignment) % alignment, '\0');
    return bytes + data;
  }
};

/// A copy on the heap of exactly this size, so that a sanitizer sees any read past its end.
class Memory {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes.size()) {
    if (!bytes.empty()) std::memcpy(bytes_.data(), bytes.data(), bytes.size());
    bytes_.shrink_to_fit();
  }
  std::span<const std::byte> span() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// The message of the ashlar error that f throws, or "" if it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const ashlar::Error& error) {
    return error.what();
  }
  return "";
}

/// Whether a message contains a text.
inline ::testing::AssertionResult says(std::string_view message, std::string_view text) {
  if (message.find(text) != message.npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "message \"" << message << "\" lacks \"" << text << "\"";
}

}  // namespace build
