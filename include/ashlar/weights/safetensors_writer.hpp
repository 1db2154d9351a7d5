// Writer for safetensors files.
#pragma once

#include <ashlar/weights/safetensors.hpp>
#include <filesystem>

namespace ashlar::inline ASHLAR_ABI {
namespace detail {

/// Text as a JSON string.
inline std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + '"';
}

/// The JSON header of tensors stored in this order, padded with spaces to a multiple of 8.
inline std::string safetensors_header(const std::vector<const TensorInfo*>& tensors,
                                      const SafetensorsMetadata& metadata) {
  std::string header = "{";
  const auto key = [&](std::string_view name) {
    if (header.size() > 1 && header.back() != '{') header += ',';
    header += json_string(name) + ':';
  };
  if (!metadata.empty()) {
    key("__metadata__");
    header += '{';
    for (const auto& [name, text] : metadata) {
      key(name);
      header += json_string(text);
    }
    header += '}';
  }
  std::size_t offset = 0;
  for (const TensorInfo* tensor : tensors) {
    key(tensor->name);
    header += join("{\"dtype\":", json_string(info(tensor->dtype).name), ",\"shape\":[");
    for (std::size_t i = 0; i < tensor->shape.size(); ++i)
      header += join(i ? "," : "", tensor->shape[i]);
    const std::size_t end = offset + tensor->bytes.size();
    header += join("],\"data_offsets\":[", offset, ",", end, "]}");
    offset = end;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  if (const std::size_t bad = find_invalid_utf8(header); bad != header.size())
    fail<ValueError>("write_safetensors: a name or text is not UTF-8, near ",
                     quote(std::string_view(header).substr(bad > 20 ? bad - 20 : 0, 20)));
  return header;
}

/// The file that a name stands for, symbolic links followed. Throws FileError for one that is there
/// and is no plain file (a device, a pipe, a folder): it would be replaced by one.
inline std::string writable_target(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  const auto check = [&](const std::string& name) {
    const fs::file_type type = fs::status(name, none).type();
    if (type != fs::file_type::not_found && type != fs::file_type::regular)
      fail<FileError>(name, ": is no plain file, expected one or a name that is free");
    return type == fs::file_type::regular;
  };
  std::string target = check(path) ? fs::canonical(path, none).string() : path;
  if (target.empty()) target = path;
  check(target + ".part");
  return target;
}
}  // namespace detail

/// Writes tensors, given as describe_tensor or a reader makes them, to a safetensors file. Larger
/// element types come first, then by name, so that every tensor is aligned. The file appears under
/// its name when it is complete; until then it is `path` + ".part".
/// Dtypes: all but the block formats. Throws ValueError for tensors that the format cannot hold,
/// FileError if writing fails.
inline void write_safetensors(const std::string& path, const std::vector<TensorInfo>& tensors,
                              const SafetensorsMetadata& metadata = {}) {
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& tensor : tensors) {
    const std::string what = "write_safetensors: tensor " + detail::quote(tensor.name);
    if (tensor.dtype == DType::unsupported || is_quantized(tensor.dtype))
      fail<ValueError>(what, " has type ", tensor.type_name, ", expected a plain number type");
    const index_t size = tensor.elements() * info(tensor.dtype).bytes;
    if (static_cast<index_t>(tensor.bytes.size()) != size)
      fail<ValueError>(what, " has ", tensor.bytes.size(), " bytes, its shape needs ", size);
    if (tensor.name == "__metadata__") fail<ValueError>(what, " has the name kept for metadata");
    order.push_back(&tensor);
  }
  if (NameIndex names; names.build(tensors) != tensors.size())
    fail<ValueError>("write_safetensors: tensor ",
                     detail::quote(tensors[names.build(tensors)].name), " is given twice");
  std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    const index_t x = info(a->dtype).bytes, y = info(b->dtype).bytes;
    return x != y ? x > y : a->name < b->name;
  });
  const std::string header = detail::safetensors_header(order, metadata);

  const std::string target = detail::writable_target(path), part = target + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (!file) fail<FileError>(part, ": cannot be created: ", std::strerror(errno));
  bool good = true;
  const auto write = [&](const void* data, std::size_t size) {
    good = good && (size == 0 || std::fwrite(data, 1, size, file) == size);
  };
  const auto length = static_cast<std::uint64_t>(header.size());
  write(&length, sizeof length);
  write(header.data(), header.size());
  for (const TensorInfo* tensor : order) write(tensor->bytes.data(), tensor->bytes.size());
  good = std::fclose(file) == 0 && good;
#if defined(_WIN32)
  if (good) std::remove(target.c_str());  // rename does not replace a file there
#endif
  if (!good || std::rename(part.c_str(), target.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(part.c_str());
    fail<FileError>(path, ": cannot be written: ", reason);
  }
}

}  // namespace ashlar::inline ASHLAR_ABI
