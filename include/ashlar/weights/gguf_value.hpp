// Metadata values of GGUF files, and the cursor that reads them.
#pragma once

#include <ashlar/weights/bytes.hpp>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// Type ids of metadata values, as stored.
enum class GgufType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

namespace detail {
struct GgufTypeInfo {
  std::string_view name;
  std::size_t bytes;  // 0: variable
};
constexpr GgufTypeInfo gguf_type_info(GgufType type) {
  constexpr GgufTypeInfo table[] = {
      {"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
      {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}};
  return table[static_cast<std::size_t>(type)];
}

/// Cursor over the bytes of a GGUF file. Every read is checked against what is left.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, std::string_view path)
      : bytes_(bytes), path_(path) {}

  template <class... Parts>
  [[noreturn]] void error(const Parts&... problem) const {
    fail<FileError>(path_, ": ", problem...);
  }

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }

  /// The next `size` bytes. `field` names them for the message.
  std::span<const std::byte> take(std::uint64_t size, std::string_view field) {
    if (!fits(size, position_, bytes_.size()))
      error(field, " at byte ", position_, " needs ", size, " bytes, the file has ", left(),
            " left (truncated?)");
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(size));
    position_ += taken.size();
    return taken;
  }
  template <class T>
  T number(std::string_view field) {
    return load<T>(take(sizeof(T), field).data());
  }
  std::string_view string(std::string_view field) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 30;
    const auto length = number<std::uint64_t>(field);
    if (length > limit)
      error(field, " at byte ", position_, " has length ", length, ", expected at most ", limit);
    return as_text(take(length, field));
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view path_;
  std::size_t position_ = 0;
};
}  // namespace detail

/// One metadata entry, in place in the file. Arrays have `element` and `count`.
struct GgufEntry {
  std::string_view name;  ///< the key
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;
  std::size_t count = 1;
  std::span<const std::byte> bytes;

  /// "u32", "array of string" ... for messages.
  std::string type_name() const {
    const bool array = type == GgufType::array;
    return join(array ? "array of " : "", detail::gguf_type_info(array ? element : type).name);
  }
};

namespace detail {

/// Whether number i of the values at p is an integer that an int64 holds; then also the integer.
inline bool gguf_integer(GgufType type, const std::byte* p, std::size_t i, std::int64_t& integer) {
  p += i * gguf_type_info(type).bytes;
  switch (type) {
    case GgufType::u8:
      integer = load<std::uint8_t>(p);
      return true;
    case GgufType::i8:
      integer = load<std::int8_t>(p);
      return true;
    case GgufType::u16:
      integer = load<std::uint16_t>(p);
      return true;
    case GgufType::i16:
      integer = load<std::int16_t>(p);
      return true;
    case GgufType::u32:
      integer = load<std::uint32_t>(p);
      return true;
    case GgufType::i32:
      integer = load<std::int32_t>(p);
      return true;
    case GgufType::u64:
    case GgufType::i64:
      integer = load<std::int64_t>(p);
      return type == GgufType::i64 || integer >= 0;
    default:
      return false;
  }
}

inline bool gguf_number(GgufType type, const std::byte* p, std::size_t i, double& number) {
  std::int64_t integer = 0;
  if (type == GgufType::f32)
    number = static_cast<double>(load<float>(p + i * 4));
  else if (type == GgufType::f64)
    number = load<double>(p + i * 8);
  else if (gguf_integer(type, p, i, integer))
    number = static_cast<double>(integer);
  else
    return false;
  return true;
}

/// Reads the value of `entry`; `what` names it for messages.
inline void read_gguf_value(GgufCursor& cursor, GgufEntry& entry, const std::string& what) {
  const auto read_type = [&] {
    const auto id = cursor.number<std::uint32_t>(what + ": type");
    if (id > static_cast<std::uint32_t>(GgufType::f64))
      cursor.error(what, ": type id ", id, ", expected 0 to 12");
    return static_cast<GgufType>(id);
  };
  entry.type = entry.element = read_type();
  if (entry.type == GgufType::array) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 30;
    entry.element = read_type();
    if (entry.element == GgufType::array)
      cursor.error(what, ": array of arrays, expected an array of plain values");
    const auto count = cursor.number<std::uint64_t>(what + ": array length");
    if (count > limit) cursor.error(what, ": array length ", count, ", expected at most ", limit);
    entry.count = static_cast<std::size_t>(count);
  }
  if (entry.element == GgufType::string) {
    GgufCursor begin = cursor;
    for (std::size_t i = 0; i < entry.count; ++i) cursor.string(what);
    entry.bytes = begin.take(cursor.position() - begin.position(), what);
  } else {
    entry.bytes = cursor.take(entry.count * gguf_type_info(entry.element).bytes, what);
  }
  if (entry.element == GgufType::boolean)
    for (const std::byte b : entry.bytes)
      if (b > std::byte{1})
        cursor.error(what, ": bool stored as ", static_cast<int>(b), ", expected 0 or 1");
}

}  // namespace detail
}  // namespace ashlar::inline ASHLAR_ABI
