// Reader for GGUF files, versions 2 and 3.
#pragma once

#include <ashlar/weights/gguf_value.hpp>
#include <ashlar/weights/mapped_file.hpp>
#include <ashlar/weights/tensor_source.hpp>

namespace ashlar::inline ASHLAR_ABI {
namespace detail {

struct GgufTensorType {
  std::uint32_t id;
  std::string_view name;
  DType dtype = DType::unsupported;
};
inline constexpr GgufTensorType gguf_tensor_types[] = {
    {0, "F32", DType::f32},
    {1, "F16", DType::f16},
    {2, "Q4_0", DType::q4_0},
    {3, "Q4_1", DType::q4_1},
    {6, "Q5_0", DType::q5_0},
    {7, "Q5_1", DType::q5_1},
    {8, "Q8_0", DType::q8_0},
    {9, "Q8_1"},
    {10, "Q2_K"},
    {11, "Q3_K"},
    {12, "Q4_K", DType::q4_k},
    {13, "Q5_K", DType::q5_k},
    {14, "Q6_K", DType::q6_k},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8", DType::i8},
    {25, "I16", DType::i16},
    {26, "I32", DType::i32},
    {27, "I64", DType::i64},
    {28, "F64", DType::f64},
    {29, "IQ1_M"},
    {30, "BF16", DType::bf16},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {39, "MXFP4"},
    {40, "NVFP4"},
    {41, "Q1_0"},
    {42, "Q2_0"},
};

}  // namespace detail

/// A GGUF file: typed metadata and tensors. Shapes are row-major, the reverse of the file's `ne`.
/// A tensor of a type without a reader here is listed with DType::unsupported and no bytes, so that
/// it is an error only for whoever needs it. A zero extent is an empty tensor.
/// Everything that a count, size or offset of the file says is checked against the file first.
/// Throws FileError naming the file, the key or tensor, and what was got and expected.
class GgufFile : public TensorSource {
 public:
  explicit GgufFile(const std::string& path) : TensorSource(path), file_(path) {
    read(file_.bytes());
  }
  /// Reads a file that is in memory already; the bytes must outlive this. `name` is for messages.
  GgufFile(std::span<const std::byte> bytes, std::string name) : TensorSource(std::move(name)) {
    read(bytes);
  }

  std::uint32_t version() const { return version_; }
  index_t alignment() const { return alignment_; }

  /// All metadata in the order of the file.
  const std::vector<GgufEntry>& metadata() const { return entries_; }
  /// The entry of this key, or null.
  const GgufEntry* find_key(std::string_view key) const { return keys_.find(entries_, key); }

  // The value of a key. Text is in place in the file. With a fallback the key may be absent, but
  // not have another type. Integers of any width are integers, and numbers too.

  std::string_view string(std::string_view key) const { return as_string(entry(key)); }
  std::string_view string(std::string_view key, std::string_view fallback) const {
    return find_key(key) ? string(key) : fallback;
  }
  std::int64_t integer(std::string_view key) const { return as_integer(entry(key)); }
  std::int64_t integer(std::string_view key, std::int64_t fallback) const {
    return find_key(key) ? integer(key) : fallback;
  }
  double number(std::string_view key) const { return as_number(entry(key)); }
  double number(std::string_view key, double fallback) const {
    return find_key(key) ? number(key) : fallback;
  }
  bool boolean(std::string_view key) const {
    const GgufEntry& e = entry(key);
    if (e.type != GgufType::boolean) wrong_type(e, "a bool");
    return e.bytes[0] != std::byte{0};
  }
  bool boolean(std::string_view key, bool fallback) const {
    return find_key(key) ? boolean(key) : fallback;
  }
  std::vector<std::string_view> strings(std::string_view key) const {
    const GgufEntry& e = entry(key);
    if (e.type != GgufType::array || e.element != GgufType::string)
      wrong_type(e, "an array of strings");
    std::vector<std::string_view> values(e.count);
    detail::GgufCursor cursor(e.bytes, path());
    for (std::string_view& value : values) value = cursor.string(key);
    return values;
  }
  std::vector<std::int64_t> integers(std::string_view key) const {
    const GgufEntry& e = entry(key);
    std::vector<std::int64_t> values(e.count);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (e.type != GgufType::array ||
          !detail::gguf_integer(e.element, e.bytes.data(), i, values[i]))
        wrong_type(e, "an array of 64-bit integers");
    return values;
  }
  std::vector<double> numbers(std::string_view key) const {
    const GgufEntry& e = entry(key);
    std::vector<double> values(e.count);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (e.type != GgufType::array ||
          !detail::gguf_number(e.element, e.bytes.data(), i, values[i]))
        wrong_type(e, "an array of numbers");
    return values;
  }

 private:
  /// Where a tensor's data lies, relative to the start of the data.
  struct Extent {
    std::uint64_t offset, size;
  };

  const GgufEntry& entry(std::string_view key) const {
    const GgufEntry* e = find_key(key);
    if (!e) fail<FileError>(path(), ": has no key ", detail::quote(key));
    return *e;
  }
  [[noreturn]] void wrong_type(const GgufEntry& e, std::string_view expected) const {
    fail<FileError>(path(), ": key ", detail::quote(e.name), " is ", e.type_name(), ", expected ",
                    expected);
  }
  std::string_view as_string(const GgufEntry& e) const {
    if (e.type != GgufType::string) wrong_type(e, "a string");
    return detail::GgufCursor(e.bytes, path()).string(e.name);
  }
  std::int64_t as_integer(const GgufEntry& e) const {
    std::int64_t value = 0;
    if (!detail::gguf_integer(e.type, e.bytes.data(), 0, value)) wrong_type(e, "a 64-bit integer");
    return value;
  }
  double as_number(const GgufEntry& e) const {
    double value = 0;
    if (!detail::gguf_number(e.type, e.bytes.data(), 0, value)) wrong_type(e, "a number");
    return value;
  }

  void read(std::span<const std::byte> bytes) {
    if (!detail::as_text(bytes).starts_with("GGUF"))
      fail<FileError>(path(), ": not a GGUF file, which starts with \"GGUF\"; ",
                      detail::describe_start(bytes));
    detail::GgufCursor cursor(bytes, path());
    cursor.take(4, "GGUF");
    read_version(cursor);
    const auto tensor_count = read_count(cursor, "number of tensors", 24);
    const auto entry_count = read_count(cursor, "number of keys", 14);
    for (std::size_t i = 0; i < entry_count; ++i) read_entry(cursor);
    if (const std::size_t twice = keys_.build(entries_); twice != entries_.size())
      fail<FileError>(path(), ": key ", detail::quote(entries_[twice].name),
                      " occurs twice, expected unique keys");
    read_alignment();

    std::vector<TensorInfo> tensors;
    std::vector<Extent> extents;
    for (std::size_t i = 0; i < tensor_count; ++i) read_tensor(cursor, tensors, extents);
    const auto alignment = static_cast<std::uint64_t>(alignment_);
    if (tensor_count != 0)  // a file without tensors may end without padding
      cursor.take((alignment - cursor.position() % alignment) % alignment,
                  "padding before the data");
    const auto data = bytes.subspan(cursor.position());
    for (std::size_t i = 0; i < tensor_count; ++i) {
      const auto [offset, size] = extents[i];
      if (!detail::fits(size, offset, data.size()))
        fail<FileError>(path(), ": tensor ", detail::quote(tensors[i].name), " needs ", size,
                        " bytes at byte ", offset, " of the data, which has ", data.size(),
                        " (truncated?)");
      tensors[i].bytes =
          data.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    }
    check_overlap(tensors, extents);
    set_tensors(std::move(tensors));
  }

  void read_version(detail::GgufCursor& cursor) {
    version_ = cursor.number<std::uint32_t>("version");
    if (version_ == 2 || version_ == 3) return;
    if (version_ != 0 && (version_ & 0xffff) == 0)
      fail<FileError>(path(),
                      ": GGUF of the other byte order (big-endian), expected little-endian");
    fail<FileError>(path(), ": GGUF version ", version_, ", expected 2 or 3");
  }

  /// A count of things that take at least `bytes_each` bytes, which the rest of the file must have.
  std::size_t read_count(detail::GgufCursor& cursor, std::string_view field,
                         std::size_t bytes_each) {
    const auto count = cursor.number<std::uint64_t>(field);
    if (count > cursor.left() / bytes_each)
      fail<FileError>(path(), ": ", field, " is ", count, ", too many for the ", cursor.left(),
                      " bytes that follow");
    return static_cast<std::size_t>(count);
  }

  void read_entry(detail::GgufCursor& cursor) {
    GgufEntry e;
    e.name = cursor.string(join("key ", entries_.size()));
    if (e.name.empty()) fail<FileError>(path(), ": key ", entries_.size(), " is empty");
    detail::read_gguf_value(cursor, e, "key " + detail::quote(e.name));
    entries_.push_back(e);
  }

  void read_alignment() {
    const std::int64_t value = integer("general.alignment", 32);
    if (value < 8 || (value & (value - 1)) != 0)
      fail<FileError>(path(), ": general.alignment is ", value, ", expected a power of two from 8");
    alignment_ = static_cast<index_t>(value);
  }

  void read_tensor(detail::GgufCursor& cursor, std::vector<TensorInfo>& tensors,
                   std::vector<Extent>& extents) const {
    constexpr std::uint32_t rank_limit = 4;
    constexpr std::size_t name_limit = 63;
    TensorInfo tensor;
    tensor.name = cursor.string(join("name of tensor ", tensors.size()));
    const std::string what = "tensor " + detail::quote(tensor.name);
    if (tensor.name.size() > name_limit)
      cursor.error(what, ": the name has ", tensor.name.size(), " bytes, expected at most ",
                   name_limit);
    const auto rank = cursor.number<std::uint32_t>(what);
    if (rank > rank_limit)
      cursor.error(what, ": ", rank, " dimensions, expected at most ", rank_limit);
    tensor.shape.resize(rank);
    for (std::uint32_t i = rank; i-- > 0;) {
      const auto extent = cursor.number<std::int64_t>(what);
      if (extent < 0)
        cursor.error(what, ": extent ", static_cast<std::uint64_t>(extent),
                     ", expected less than 2^63");
      tensor.shape[i] = static_cast<index_t>(extent);
    }
    std::uint64_t elements = 0;
    if (!detail::count_elements(tensor.shape, elements))
      cursor.error(what, ": the number of elements overflows 64 bits");
    const auto id = cursor.number<std::uint32_t>(what);
    Extent extent{cursor.number<std::uint64_t>(what), 0};
    if (extent.offset % static_cast<std::uint64_t>(alignment_) != 0)
      cursor.error(what, ": offset ", extent.offset, ", expected a multiple of the alignment ",
                   alignment_);
    set_type(tensor, id);
    if (tensor.dtype != DType::unsupported) {
      const DTypeInfo block = info(tensor.dtype);
      const index_t row = rank == 0 ? 1 : tensor.shape.back();
      if (row % block.elements != 0)
        cursor.error(what, ": rows of ", row, " elements, ", block.name, " needs a multiple of ",
                     block.elements);
      extent.size = elements / static_cast<std::uint64_t>(block.elements);
      if (!detail::multiply(extent.size, static_cast<std::uint64_t>(block.bytes)))
        cursor.error(what, ": the number of bytes overflows 64 bits");
    }
    tensors.push_back(std::move(tensor));
    extents.push_back(extent);
  }

  static void set_type(TensorInfo& tensor, std::uint32_t id) {
    std::string_view name = "unknown type";
    for (const detail::GgufTensorType& known : detail::gguf_tensor_types) {
      if (known.id != id) continue;
      name = known.name;
      tensor.dtype = known.dtype;
    }
    tensor.type_name =
        tensor.dtype != DType::unsupported ? std::string(name) : join(name, " (", id, ")");
  }

  void check_overlap(const std::vector<TensorInfo>& tensors,
                     const std::vector<Extent>& extents) const {
    std::vector<std::size_t> order = sorted_order(
        tensors.size(),
        [&](std::size_t a, std::size_t b) { return extents[a].offset < extents[b].offset; });
    std::erase_if(order, [&](std::size_t i) { return extents[i].size == 0; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const Extent before = extents[order[i - 1]], here = extents[order[i]];
      if (here.offset - before.offset < before.size)
        fail<FileError>(path(), ": tensors ", detail::quote(tensors[order[i - 1]].name), " and ",
                        detail::quote(tensors[order[i]].name), " overlap in the data at byte ",
                        here.offset);
    }
  }

  MappedFile file_;
  std::uint32_t version_ = 0;
  index_t alignment_ = 0;
  std::vector<GgufEntry> entries_;
  NameIndex keys_;
};

}  // namespace ashlar::inline ASHLAR_ABI
