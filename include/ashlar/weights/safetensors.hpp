// Reader for safetensors files, single and sharded.
#pragma once

#include <ashlar/weights/json.hpp>
#include <ashlar/weights/mapped_file.hpp>
#include <ashlar/weights/tensor_source.hpp>
#include <map>

namespace ashlar::inline ASHLAR_ABI {

/// What to do with bytes after the last tensor. The format forbids them, a few published files
/// have them.
enum class TrailingBytes { refuse, ignore };

using SafetensorsMetadata = std::map<std::string, std::string, std::less<>>;

namespace detail {
struct SafetensorsType {
  std::string_view name;
  unsigned bits;
  DType dtype;
};
inline constexpr SafetensorsType safetensors_types[] = {
    {"F64", 64, DType::f64},
    {"F32", 32, DType::f32},
    {"F16", 16, DType::f16},
    {"BF16", 16, DType::bf16},
    {"I64", 64, DType::i64},
    {"I32", 32, DType::i32},
    {"I16", 16, DType::i16},
    {"I8", 8, DType::i8},
    {"U64", 64, DType::u64},
    {"U32", 32, DType::u32},
    {"U16", 16, DType::u16},
    {"U8", 8, DType::u8},
    {"BOOL", 8, DType::boolean},
    {"C64", 64, DType::unsupported},
    {"F8_E5M2", 8, DType::unsupported},
    {"F8_E4M3", 8, DType::unsupported},
    {"F8_E8M0", 8, DType::unsupported},
    {"F8_E4M3FNUZ", 8, DType::unsupported},
    {"F8_E5M2FNUZ", 8, DType::unsupported},
    {"F6_E2M3", 6, DType::unsupported},
    {"F6_E3M2", 6, DType::unsupported},
    {"F4", 4, DType::unsupported},
};
}  // namespace detail

/// One safetensors file: u64 header length, JSON header, data. Everything that the header says is
/// checked against the file: tensors fill the data from its first to its last byte without gaps or
/// overlap, and each has the bytes that its shape and type need.
/// Throws FileError naming the file, the tensor and what was wrong.
class SafetensorsFile : public TensorSource {
 public:
  explicit SafetensorsFile(const std::string& path, TrailingBytes trailing = TrailingBytes::refuse)
      : TensorSource(path), file_(path) {
    read(file_.bytes(), trailing);
  }
  /// Reads a file that is in memory already; the bytes must outlive this. `name` is for messages.
  SafetensorsFile(std::span<const std::byte> bytes, std::string name,
                  TrailingBytes trailing = TrailingBytes::refuse)
      : TensorSource(std::move(name)) {
    read(bytes, trailing);
  }

  const SafetensorsMetadata& metadata() const { return metadata_; }

 private:
  static constexpr std::uint64_t header_limit = 100'000'000;

  void read(std::span<const std::byte> bytes, TrailingBytes trailing) {
    if (bytes.size() < 8)
      fail<FileError>(path(), ": has ", bytes.size(), " bytes, too short for a safetensors file");
    const auto length = load<std::uint64_t>(bytes.data());
    const bool fits = detail::fits(length, 8, bytes.size());
    if (length > header_limit || !fits || length == 0 || bytes[8] != std::byte{'{'}) {
      const std::string problem =
          length > header_limit ? join("header length ", length, " is above ", header_limit)
          : !fits ? join("header length ", length, " but only ", bytes.size() - 8, " bytes follow")
                  : std::string("the header does not begin with {");
      fail<FileError>(path(), ": not a complete safetensors file: ", problem, "; ",
                      detail::describe_start(bytes));
    }
    const auto header_size = static_cast<std::size_t>(length);
    const Json header = Json::parse(detail::as_text(bytes.subspan(8, header_size)), path());
    const auto data = bytes.subspan(8 + header_size);
    std::vector<TensorInfo> tensors;
    tensors.reserve(header.members().size());
    for (const Json::Member& member : header.members()) {
      if (member.name == "__metadata__")
        read_metadata(member.value);
      else
        tensors.push_back(read_tensor(member, data));
    }
    check_layout(tensors, data, trailing);
    set_tensors(std::move(tensors));
  }

  void read_metadata(const Json& metadata) {
    const std::string what = path() + ": __metadata__";
    for (const Json::Member& member : metadata.members(what))
      metadata_[member.name] = member.value.as_string(what + " " + detail::quote(member.name));
  }

  TensorInfo read_tensor(const Json::Member& member, std::span<const std::byte> data) const {
    const std::string what = path() + ": tensor " + detail::quote(member.name);
    TensorInfo tensor;
    tensor.name = member.name;
    tensor.type_name = member.value.at("dtype", what).as_string(what + ": dtype");
    const detail::SafetensorsType* type = nullptr;
    for (const auto& known : detail::safetensors_types)
      if (known.name == tensor.type_name) type = &known;
    if (!type) fail<FileError>(what, ": unknown dtype ", detail::quote(tensor.type_name));
    tensor.dtype = type->dtype;

    for (const Json& item : member.value.at("shape", what).items(what + ": shape")) {
      const std::int64_t extent = item.as_int(what + ": an extent of shape");
      if (extent < 0) fail<FileError>(what, ": extent ", extent, ", expected 0 or more");
      tensor.shape.push_back(static_cast<index_t>(extent));
    }
    std::uint64_t bits = 0;
    if (!detail::count_elements(tensor.shape, bits) || !detail::multiply(bits, type->bits))
      fail<FileError>(what, ": the size of its shape overflows 64 bits");
    if (bits % 8 != 0) fail<FileError>(what, ": ", bits, " bits are not a whole number of bytes");

    const auto& offsets = member.value.at("data_offsets", what).items(what + ": data_offsets");
    if (offsets.size() != 2)
      fail<FileError>(what, ": data_offsets has ", offsets.size(), " numbers, expected 2");
    const std::int64_t begin = offsets[0].as_int(what + ": data_offsets");
    const std::int64_t end = offsets[1].as_int(what + ": data_offsets");
    if (begin < 0 || end < begin)
      fail<FileError>(what, ": data_offsets [", begin, ", ", end, "], expected 0 <= begin <= end");
    const auto size = static_cast<std::uint64_t>(end - begin);
    if (size != bits / 8)
      fail<FileError>(what, ": data_offsets [", begin, ", ", end, "] cover ", size,
                      " bytes, shape and dtype need ", bits / 8);
    if (!detail::fits(size, static_cast<std::uint64_t>(begin), data.size()))
      fail<FileError>(what, ": ends at byte ", end, " of the data, the file has ", data.size(),
                      " (truncated?)");
    tensor.bytes = data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    return tensor;
  }

  /// Tensors follow one another from the first byte of the data to the last.
  void check_layout(const std::vector<TensorInfo>& tensors, std::span<const std::byte> data,
                    TrailingBytes trailing) const {
    const auto begin = [&](const TensorInfo* t) { return t->bytes.data() - data.data(); };
    const auto order = sorted_order(tensors.size(), [&](std::size_t i, std::size_t j) {
      const TensorInfo *a = &tensors[i], *b = &tensors[j];
      return begin(a) != begin(b) ? begin(a) < begin(b) : a->bytes.size() < b->bytes.size();
    });
    std::ptrdiff_t expected = 0;
    for (const std::size_t i : order) {
      const TensorInfo* tensor = &tensors[i];
      if (begin(tensor) != expected)
        fail<FileError>(path(), ": tensor ", detail::quote(tensor->name), " begins at byte ",
                        begin(tensor), " of the data, expected ", expected,
                        begin(tensor) < expected ? " (tensors overlap)" : " (gap between tensors)");
      expected += static_cast<std::ptrdiff_t>(tensor->bytes.size());
    }
    const auto rest = static_cast<std::ptrdiff_t>(data.size()) - expected;
    if (rest != 0 && trailing == TrailingBytes::refuse)
      fail<FileError>(path(), ": ", rest, " bytes after the last tensor, expected none");
  }

  MappedFile file_;
  SafetensorsMetadata metadata_;
};

/// A model in several safetensors files, as `model.safetensors.index.json` lists them. Shows the
/// tensors of its weight_map. Throws FileError for an index that is not standard, and one error for
/// all shards that are missing and all tensors that are not where the index says.
class ShardedSafetensors : public TensorSource {
 public:
  explicit ShardedSafetensors(const std::string& index_path,
                              TrailingBytes trailing = TrailingBytes::refuse)
      : TensorSource(index_path) {
    const MappedFile file(index_path);
    const Json index = Json::parse(detail::as_text(file.bytes()), index_path);
    const auto slash = index_path.find_last_of("/\\");
    const std::string folder =
        slash == std::string::npos ? std::string() : index_path.substr(0, slash + 1);

    const auto& entries = index.at("weight_map", index_path).members("weight_map");
    std::vector<const std::string*> names;  // of the shards that the tensors are in
    for (const Json::Member& entry : entries) {
      const std::string what = index_path + ": weight_map: " + detail::quote(entry.name);
      const std::string& name = entry.value.as_string(what);
      if (name.empty() || name == "." || name == ".." ||
          name.find_first_of(std::string_view("/\\:\0", 4)) != std::string::npos)
        fail<FileError>(what, " is in ", detail::quote(name),
                        ", expected the plain name of a file in the same folder");
      names.push_back(&name);
    }
    std::string problems;
    const auto order = sorted_order(
        names.size(), [&](std::size_t i, std::size_t j) { return *names[i] < *names[j]; });
    std::vector<const TensorSource*> shards(names.size());  // of the tensors; null: missing
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::string& name = *names[order[i]];
      if (i > 0 && name == *names[order[i - 1]]) {
        shards[order[i]] = shards[order[i - 1]];
      } else if (detail::can_open(folder + name)) {
        shards_.push_back(std::make_unique<SafetensorsFile>(folder + name, trailing));
        shards[order[i]] = shards_.back().get();
      } else {
        problems += "\n  shard " + detail::quote(name) + " is missing";
      }
    }
    std::vector<TensorInfo> tensors;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (shards[i] == nullptr) continue;
      if (const TensorInfo* tensor = shards[i]->find(entries[i].name))
        tensors.push_back(*tensor);
      else
        problems += "\n  tensor " + detail::quote(entries[i].name) + " is not in " + *names[i];
    }
    if (!problems.empty())
      fail<FileError>(index_path, ": shards do not match the index:", problems);
    set_tensors(std::move(tensors));
  }

 private:
  std::vector<std::unique_ptr<TensorSource>> shards_;
};

/// Opens `model.safetensors` of a model folder or else the shards of
/// `model.safetensors.index.json`. Throws FileError if neither is there.
inline std::unique_ptr<TensorSource> open_safetensors_folder(
    const std::string& folder, TrailingBytes trailing = TrailingBytes::refuse) {
  const std::string single = folder + "/model.safetensors", index = single + ".index.json";
  if (detail::can_open(single)) return std::make_unique<SafetensorsFile>(single, trailing);
  if (detail::can_open(index)) return std::make_unique<ShardedSafetensors>(index, trailing);
  fail<FileError>(folder, ": has neither model.safetensors nor model.safetensors.index.json");
}

}  // namespace ashlar::inline ASHLAR_ABI
