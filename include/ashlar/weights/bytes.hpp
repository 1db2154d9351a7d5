// Reading numbers at any byte address, and the checks that every number from a file goes through.
#pragma once

#include <ashlar/core/error.hpp>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

namespace ashlar::inline ASHLAR_ABI {

static_assert(std::endian::native == std::endian::little,
              "ashlar: weight files are little-endian and are read without swapping bytes");

/// The T stored at p, which may have any alignment.
template <class T>
requires std::is_trivially_copyable_v<T> T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

namespace detail {

/// Whether `length` bytes at `offset` lie inside `size` bytes. The sum is never formed: it wraps.
constexpr bool fits(std::uint64_t length, std::uint64_t offset, std::uint64_t size) {
  return offset <= size && length <= size - offset;
}

/// product *= factor, or false when the result passes the range of index_t.
constexpr bool multiply(std::uint64_t& product, std::uint64_t factor) {
  constexpr auto limit = static_cast<std::uint64_t>((std::numeric_limits<index_t>::max)());
  if (factor != 0 && product > limit / factor) return false;
  product *= factor;
  return true;
}

/// Text from a file as part of a message: quoted, cut to 80 bytes, printable in one line.
inline std::string quote(std::string_view text) {
  constexpr std::size_t limit = 80;
  std::size_t end = text.size() > limit ? limit : text.size();
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;                     // whole characters
  std::string quoted(1, '"');  // added to piece by piece: g++ 12 warns of a sum at -O3
  quoted += printable(text.substr(0, end));
  quoted += end < text.size() ? "...\"" : "\"";
  return quoted;
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What a file seems to be, for the message of a reader that expected something else.
inline std::string describe_start(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  if (text.starts_with("GGUF")) return "this is a GGUF file";
  if (text.starts_with("version https://git-lfs"))
    return "this is a Git LFS pointer, not the file itself (fetch it with \"git lfs pull\")";
  if (text.starts_with("PK\x03\x04")) return "this is a ZIP archive, as PyTorch writes them";
  if (bytes.size() > 8 && text[8] == '{' &&
      fits(load<std::uint64_t>(bytes.data()), 8, bytes.size()))
    return "this looks like a safetensors file";
  return "it starts with " + quote(text.substr(0, 16));
}

}  // namespace detail
}  // namespace ashlar::inline ASHLAR_ABI
