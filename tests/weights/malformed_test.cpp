// Broken and hostile files: each must give an error that says what is wrong, and never a crash, a
// read outside the file or an allocation that the file's size does not justify.
#include <gtest/gtest.h>

#include <ashlar/weights/gguf.hpp>
#include <ashlar/weights/safetensors.hpp>
#include <cstdlib>
#include <new>

#include "weights/build_files.hpp"

namespace {
std::size_t largest_allocation = 0;
}
// Not inlined: g++ takes the pairs for mismatched once it sees only half of one.
[[gnu::noinline]] void* operator new(std::size_t size) {
  largest_allocation = size > largest_allocation ? size : largest_allocation;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using ashlar::GgufFile;
using ashlar::SafetensorsFile;
using ashlar::TrailingBytes;
using build::error_of;
using build::Gguf;
using build::gguf_string;
using build::Memory;
using build::raw;
using build::raw_all;
using build::safetensors;
using build::says;

constexpr std::uint64_t all_ones = UINT64_MAX;

/// Opens a file in memory; "" or the message. Refuses allocations above 1 MiB.
template <class File>
std::string open_error(std::string_view bytes) {
  const Memory memory(bytes);
  largest_allocation = 0;
  const std::string message = error_of([&] { File(memory.span(), "model"); });
  EXPECT_LE(largest_allocation, std::size_t{1} << 20) << message;
  EXPECT_TRUE(message.empty() || message.starts_with("model: ")) << message;
  EXPECT_FALSE(says(message, "model: model: "));
  return message;
}
std::string safetensors_error(std::string_view bytes) { return open_error<SafetensorsFile>(bytes); }
std::string gguf_error(const Gguf& g) { return open_error<GgufFile>(g.file()); }

/// Touches everything that a reader hands out.
void use(const ashlar::TensorSource& source) {
  unsigned sum = 0;
  for (const ashlar::TensorInfo& tensor : source.tensors()) {
    for (const std::byte b : tensor.bytes) sum += static_cast<unsigned>(b);
    EXPECT_EQ(source.find(tensor.name), &tensor);
    if (!ashlar::is_float(tensor.dtype) || tensor.elements() > 4096) continue;
    std::vector<float> out(static_cast<std::size_t>(tensor.elements()));
    ashlar::read_f32(tensor, out);
  }
  EXPECT_LT(sum, 1u << 30);
}
void use(const GgufFile& file) {
  use(static_cast<const ashlar::TensorSource&>(file));
  for (const ashlar::GgufEntry& e : file.metadata()) {
    error_of([&] { file.integer(e.name); });
    error_of([&] { file.number(e.name); });
    error_of([&] { file.string(e.name); });
    error_of([&] { file.boolean(e.name); });
    error_of([&] { file.strings(e.name); });
    error_of([&] { file.integers(e.name); });
    error_of([&] { file.numbers(e.name); });
  }
}

std::string small_safetensors() {
  return safetensors(R"({"__metadata__":{"format":"pt"},)"
                     R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                     R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]}})",
                     std::string(32, '\x3f'));
}
std::string safetensors_of_4_kib() {  // data at an odd byte, a scalar and an empty tensor
  std::string header = R"({"z":{"dtype":"I8","shape":[],"data_offsets":[0,1]},)"
                       R"("a":{"dtype":"F16","shape":[5,0],"data_offsets":[1,1]},)"
                       R"("m\u00e9":{"dtype":"F64","shape":[3,7,23],"data_offsets":[1,3865]}})";
  header.append(header.size() % 2 == 0 ? 1 : 0, ' ');
  return safetensors(header, std::string(3865, '\x11'));
}
std::string small_gguf() {
  Gguf g;
  g.entry("general.architecture", 8, gguf_string("llama")).entry("llama.block_count", 4, raw(2u));
  g.entry("flag", 7, raw<std::uint8_t>(1))
      .array("tokens", 8, 2, gguf_string("a") + gguf_string("bc"));
  g.array("scores", 6, 2, raw_all({0.5f, 1.0f}));
  g.tensor("x", {4, 2}, 0, 0).tensor("y", {32, 1}, 8, 32).data.assign(66, '\1');
  return g.file();
}
std::string gguf_version_2() {
  Gguf g;
  g.version = 2;
  g.alignment = 64;
  g.entry("general.alignment", 4, raw(64u)).entry("eps", 12, raw(1e-5));
  g.array("ids", 11, 3, raw_all<std::int64_t>({1, 2, 3}));
  g.tensor("k", {256}, 12, 192).tensor("half", {2, 2, 2, 2}, 1, 0).tensor("odd", {5}, 777, 128);
  g.data.assign(192 + 144, '\2');
  return g.file();
}

template <class File>
void every_truncation_is_an_error(const std::string& bytes) {
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(open_error<File>(std::string_view(bytes).substr(0, size)), "") << size << " bytes";
  EXPECT_EQ(open_error<File>(bytes), "");
  const Memory memory(bytes);
  use(File(memory.span(), "model"));
}

/// Sets each byte before the data to several values: an error or a sound result.
template <class File>
void every_changed_byte_is_harmless(const std::string& bytes, std::size_t header_size) {
  int accepted = 0, refused = 0;
  for (std::size_t i = 0; i < header_size; ++i)
    for (const int value :
         {0x00, 0x01, 0x02, 0x04, 0x08, 0x09, 0x20, 0x22, 0x30, 0x39, 0x7f, 0x80, 0xfe, 0xff,
          bytes[i] ^ 1, bytes[i] ^ 0x80, bytes[i] + 1, bytes[i] - 1}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      const Memory memory(changed);
      largest_allocation = 0;
      const std::string message = error_of([&] { use(File(memory.span(), "model")); });
      EXPECT_LE(largest_allocation, std::size_t{1} << 20) << "byte " << i << " = " << value;
      ++(message.empty() ? accepted : refused);
    }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, accepted / 4);
}

TEST(MalformedSafetensors, EveryTruncation) {
  every_truncation_is_an_error<SafetensorsFile>(small_safetensors());
  every_truncation_is_an_error<SafetensorsFile>(safetensors_of_4_kib());
}

TEST(MalformedSafetensors, TruncationIsNoTrailingByte) {
  const std::string bytes = small_safetensors();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Memory memory(std::string_view(bytes).substr(0, size));
    EXPECT_NE(error_of([&] { SafetensorsFile(memory.span(), "m", TrailingBytes::ignore); }), "");
  }
}

TEST(MalformedSafetensors, EveryChangedByte) {
  for (const std::string& bytes : {small_safetensors(), safetensors_of_4_kib()})
    every_changed_byte_is_harmless<SafetensorsFile>(bytes, bytes.find("}}") + 2);
}

TEST(MalformedSafetensors, HeaderLengthIsCheckedBeforeUse) {
  std::string bytes = small_safetensors();
  const std::uint64_t size = bytes.size();
  const auto with_length = [&](std::uint64_t length) {
    return safetensors_error(raw(length) + bytes.substr(8));
  };
  for (const std::uint64_t length : {all_ones, all_ones - 4, all_ones - 7, std::uint64_t{1} << 63,
                                     std::uint64_t{1} << 40, std::uint64_t{100'000'001}})
    EXPECT_TRUE(says(with_length(length),
                     "header length " + std::to_string(length) + " is above 100000000"));
  for (const std::uint64_t length : {size - 7, size, std::uint64_t{100'000'000}})
    EXPECT_TRUE(says(with_length(length), "header length " + std::to_string(length) + " but only " +
                                              std::to_string(size - 8) + " bytes follow"));
  EXPECT_TRUE(says(with_length(0), "does not begin with {"));
  EXPECT_TRUE(says(with_length(size - 8), "JSON"));  // the data is no JSON
  EXPECT_TRUE(says(safetensors_error("1234567"), "has 7 bytes, too short for a safetensors file"));
}

TEST(MalformedSafetensors, HeaderText) {
  const auto message = [](std::string_view header) {
    return safetensors_error(safetensors(header, ""));
  };
  EXPECT_TRUE(says(message(" {}"), "the header does not begin with {"));
  EXPECT_TRUE(says(message("[]"), "the header does not begin with {"));
  EXPECT_TRUE(says(message("{\"\xff\":1}"), "byte 2: not UTF-8"));
  EXPECT_TRUE(says(message("{} {}"), "expected the end"));
  EXPECT_TRUE(says(message(R"({"a":1})"), "tensor \"a\" is an integer, expected an object"));
  EXPECT_TRUE(says(message(R"({"__metadata__":{"a":1}})"),
                   "__metadata__ \"a\" is an integer, expected a string"));
  EXPECT_TRUE(
      says(message(R"({"__metadata__":[]})"), "__metadata__ is an array, expected an object"));
}

TEST(MalformedSafetensors, DuplicateKeys) {
  EXPECT_TRUE(
      says(safetensors_error(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                         R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                         "xy")),
           "duplicate key \"a\""));
  EXPECT_TRUE(
      says(safetensors_error(safetensors(
               R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x")),
           "duplicate key \"dtype\""));
}

std::string one_tensor(std::string_view dtype, std::string_view shape, std::string_view offsets,
                       std::size_t bytes) {
  return safetensors_error(safetensors(ashlar::join(R"({"t":{"dtype":")", dtype, R"(","shape":)",
                                                    shape, R"(,"data_offsets":)", offsets, "}}"),
                                       std::string(bytes, '\0')));
}

TEST(MalformedSafetensors, FieldsOfATensor) {
  const auto message = [](std::string_view fields) {
    return safetensors_error(safetensors(ashlar::join("{\"t\":{", fields, "}}"), "abcd"));
  };
  EXPECT_TRUE(
      says(message(R"("shape":[4],"data_offsets":[0,4])"), "tensor \"t\" has no key \"dtype\""));
  EXPECT_TRUE(says(message(R"("dtype":"U8","data_offsets":[0,4])"), "has no key \"shape\""));
  EXPECT_TRUE(says(message(R"("dtype":"U8","shape":[4])"), "has no key \"data_offsets\""));
  EXPECT_TRUE(says(message(R"("dtype":8,"shape":[4],"data_offsets":[0,4])"),
                   "tensor \"t\": dtype is an integer, expected a string"));
  EXPECT_TRUE(says(one_tensor("U8", "4", "[0,4]", 4), "shape is an integer, expected an array"));
  EXPECT_TRUE(
      says(one_tensor("U8", "[4.0]", "[0,4]", 4), "shape is a decimal number, expected a 64"));
  EXPECT_TRUE(says(one_tensor("U8", "[-4]", "[0,4]", 4), "extent -4, expected 0 or more"));
  EXPECT_TRUE(
      says(one_tensor("U8", "[\"4\"]", "[0,4]", 4), "is a string, expected a 64-bit integer"));
  EXPECT_TRUE(says(one_tensor("U8", "[4]", "[0]", 4), "data_offsets has 1 numbers, expected 2"));
  EXPECT_TRUE(
      says(one_tensor("U8", "[4]", "[0,4,8]", 4), "data_offsets has 3 numbers, expected 2"));
  EXPECT_TRUE(
      says(one_tensor("U8", "[4]", "{}", 4), "data_offsets is an object, expected an array"));
  EXPECT_TRUE(
      says(one_tensor("U8", "[4]", "[0,4e0]", 4), "is a decimal number, expected a 64-bit"));
}

TEST(MalformedSafetensors, UnknownTypeIsAlwaysAnError) {
  EXPECT_TRUE(says(one_tensor("F13", "[1]", "[0,4]", 4), "tensor \"t\": unknown dtype \"F13\""));
  EXPECT_TRUE(says(one_tensor("F13", "[1]", "[7,900]", 4), "unknown dtype \"F13\""));
  EXPECT_TRUE(says(one_tensor("f32", "[1]", "[0,4]", 4), "unknown dtype \"f32\""));
}

TEST(MalformedSafetensors, BitsMustFillBytes) {
  EXPECT_TRUE(says(one_tensor("F4", "[3]", "[0,2]", 2), "12 bits are not a whole number of bytes"));
  EXPECT_TRUE(says(one_tensor("F6_E2M3", "[2]", "[0,2]", 2), "12 bits are not a whole number"));
}

TEST(MalformedSafetensors, ShapeAndOffsetsMustAgree) {
  EXPECT_TRUE(says(one_tensor("F32", "[1000,1000]", "[0,4]", 4),
                   "data_offsets [0, 4] cover 4 bytes, shape and dtype need 4000000"));
  EXPECT_TRUE(says(one_tensor("F32", "[]", "[0,8]", 8), "cover 8 bytes, shape and dtype need 4"));
  EXPECT_TRUE(says(one_tensor("F32", "[0]", "[0,4]", 4), "cover 4 bytes, shape and dtype need 0"));
  EXPECT_EQ(one_tensor("F32", "[]", "[0,4]", 4), "");
  EXPECT_EQ(one_tensor("F32", "[0,4]", "[0,0]", 0), "");
}

TEST(MalformedSafetensors, ProductOfTheShapeMayNotOverflow) {
  for (const char* shape :
       {"[4611686018427387904,4]", "[4294967296,4294967296]", "[9223372036854775807,2]",
        "[4611686018427387904]", "[2305843009213693952,1]", "[4611686018427387904,4,0]",
        "[0,4611686018427387904,4]"})
    EXPECT_TRUE(
        says(one_tensor("F32", shape, "[0,0]", 0), "the size of its shape overflows 64 bits"))
        << shape;
  EXPECT_TRUE(says(one_tensor("F32", "[18446744073709551616]", "[0,0]", 0),
                   "is a decimal number, expected a 64-bit integer"));
}

TEST(MalformedSafetensors, OffsetsOutsideTheFile) {
  EXPECT_TRUE(says(one_tensor("U8", "[4]", "[4,0]", 4), "[4, 0], expected 0 <= begin <= end"));
  EXPECT_TRUE(says(one_tensor("U8", "[4]", "[-4,0]", 4), "[-4, 0], expected 0 <= begin <= end"));
  EXPECT_TRUE(
      says(one_tensor("U8", "[4]", "[0,4]", 3), "ends at byte 4 of the data, the file has 3"));
  EXPECT_TRUE(says(one_tensor("U8", "[4]", "[9223372036854775803,9223372036854775807]", 4),
                   "ends at byte 9223372036854775807"));
  EXPECT_TRUE(says(one_tensor("U8", "[0]", "[9,9]", 4), "ends at byte 9 of the data"));
}

TEST(MalformedSafetensors, OverlapGapsAndTrailingBytes) {
  const auto two = [](std::string_view a, std::string_view b, std::size_t bytes) {
    return safetensors_error(safetensors(ashlar::join(R"({"a":{"dtype":"U8","shape":)", a,
                                                      R"(},"b":{"dtype":"U8","shape":)", b, "}}"),
                                         std::string(bytes, '\0')));
  };
  EXPECT_TRUE(says(two(R"([8],"data_offsets":[0,8])", R"([8],"data_offsets":[4,12])", 12),
                   "tensor \"b\" begins at byte 4 of the data, expected 8 (tensors overlap)"));
  EXPECT_TRUE(
      says(two(R"([4],"data_offsets":[0,4])", R"([4],"data_offsets":[0,4])", 4), "overlap"));
  EXPECT_TRUE(says(two(R"([4],"data_offsets":[0,4])", R"([4],"data_offsets":[8,12])", 12),
                   "tensor \"b\" begins at byte 8 of the data, expected 4 (gap between tensors)"));
  EXPECT_TRUE(says(two(R"([4],"data_offsets":[1,5])", R"([4],"data_offsets":[5,9])", 9),
                   "tensor \"a\" begins at byte 1 of the data, expected 0"));
  EXPECT_TRUE(says(two(R"([4],"data_offsets":[4,8])", R"([4],"data_offsets":[0,4])", 9),
                   "1 bytes after the last tensor, expected none"));
  EXPECT_EQ(two(R"([4],"data_offsets":[4,8])", R"([4],"data_offsets":[0,4])", 8), "");
}

// ---- GGUF ----

TEST(MalformedGguf, EveryTruncation) {
  every_truncation_is_an_error<GgufFile>(small_gguf());
  every_truncation_is_an_error<GgufFile>(gguf_version_2());
}

TEST(MalformedGguf, EveryChangedByte) {
  every_changed_byte_is_harmless<GgufFile>(small_gguf(), small_gguf().size() - 66);
  every_changed_byte_is_harmless<GgufFile>(gguf_version_2(), gguf_version_2().size() - 336);
}

TEST(MalformedGguf, Versions) {
  const auto message = [](std::uint32_t version) {
    Gguf g;
    g.version = version;
    return gguf_error(g);
  };
  EXPECT_TRUE(says(message(1), "GGUF version 1, expected 2 or 3"));
  EXPECT_TRUE(says(message(4), "GGUF version 4, expected 2 or 3"));
  EXPECT_TRUE(says(message(0), "GGUF version 0, expected 2 or 3"));
  EXPECT_TRUE(says(message(0x03000000), "other byte order (big-endian), expected little-endian"));
}

TEST(MalformedGguf, CountsAreCheckedBeforeUse) {
  for (const std::uint64_t count :
       {all_ones, std::uint64_t{1} << 63, std::uint64_t{1} << 40, std::uint64_t{1000}}) {
    Gguf g;
    g.tensor_count = count;
    EXPECT_TRUE(
        says(gguf_error(g), "number of tensors is " + std::to_string(count) + ", too many"));
    g.tensor_count = 0;
    g.entry_count = count;
    EXPECT_TRUE(says(gguf_error(g), "number of keys is " + std::to_string(count) + ", too many"));
  }
}

TEST(MalformedGguf, StringLengthsAreCheckedBeforeUse) {
  Gguf g;
  g.entry_count = 1;
  for (const std::uint64_t length : {all_ones, all_ones - 7, (std::uint64_t{1} << 30) + 1}) {
    g.entries = raw(length) + "key" + std::string(32, '\0');
    EXPECT_TRUE(says(gguf_error(g), "has length " + std::to_string(length) + ", expected at most"));
    EXPECT_TRUE(says(gguf_error(Gguf().entry("key", 8, raw(length) + "text")),
                     "has length " + std::to_string(length) + ", expected at most 1073741824"));
  }
  g.entries = raw(std::uint64_t{1} << 30) + "key" + std::string(32, '\0');
  EXPECT_TRUE(says(gguf_error(g), "needs 1073741824 bytes, the file has"));
  EXPECT_TRUE(
      says(gguf_error(Gguf().entry("key", 8, raw(std::uint64_t{999}) + "text")), "key \"key\""));
}

TEST(MalformedGguf, ArrayCountsAreCheckedBeforeUse) {
  for (const std::uint64_t count : {std::uint64_t{1} << 61, all_ones, (std::uint64_t{1} << 30) + 1})
    for (const std::uint32_t element : {0u, 8u, 10u})
      EXPECT_TRUE(
          says(gguf_error(Gguf().array("key", element, count, "12345678")),
               "key \"key\": array length " + std::to_string(count) + ", expected at most"));
  for (const std::uint32_t element : {0u, 8u, 10u})
    EXPECT_TRUE(says(gguf_error(Gguf().array("key", element, 1u << 30, raw(0ull))),
                     "model: key \"key\" at byte "));
}

TEST(MalformedGguf, TypesOfValues) {
  EXPECT_TRUE(
      says(gguf_error(Gguf().entry("key", 13, raw(0ull))), "key \"key\": type id 13, expected"));
  EXPECT_TRUE(says(gguf_error(Gguf().entry("key", UINT32_MAX, raw(0ull))), "type id 4294967295"));
  EXPECT_TRUE(says(gguf_error(Gguf().array("key", 13, 0, "12345678")), "type id 13"));
  EXPECT_TRUE(says(gguf_error(Gguf().array("key", 9, 1, raw(4u) + raw(0ull))), "array of arrays"));
  EXPECT_TRUE(
      says(gguf_error(Gguf().entry("key", 7, "\2 padding")), "bool stored as 2, expected 0 or 1"));
  EXPECT_TRUE(says(gguf_error(Gguf().array("key", 7, 2, "\1\xff")), "bool stored as 255"));
}

TEST(MalformedGguf, EmptyAndDuplicateNames) {
  EXPECT_TRUE(says(gguf_error(Gguf().entry("", 4, raw(1u))), "key 0 is empty"));
  EXPECT_TRUE(
      says(gguf_error(Gguf().entry("a", 4, raw(1u)).entry("b", 4, raw(1u)).entry("a", 4, raw(2u))),
           "key \"a\" occurs twice"));
  Gguf g;
  g.tensor("t", {1}, 0, 0).tensor("t", {1}, 0, 32).data.resize(64);
  EXPECT_TRUE(says(gguf_error(g), "tensor name \"t\" occurs twice"));
}

TEST(MalformedGguf, LongTensorNames) {
  Gguf g;
  g.tensor(std::string(63, 'n'), {1}, 0, 0).data.resize(4);
  EXPECT_EQ(gguf_error(g), "");
  Gguf longer;
  longer.tensor(std::string(64, 'n'), {1}, 0, 0).data.resize(4);
  EXPECT_TRUE(says(gguf_error(longer), "the name has 64 bytes, expected at most 63"));
}

TEST(MalformedGguf, Alignment) {
  for (const std::uint32_t alignment : {0u, 1u, 4u, 7u, 12u, 33u, UINT32_MAX})
    EXPECT_TRUE(says(
        gguf_error(Gguf().entry("general.alignment", 4, raw(alignment))),
        "general.alignment is " + std::to_string(alignment) + ", expected a power of two from 8"));
  EXPECT_TRUE(says(gguf_error(Gguf().entry("general.alignment", 8, gguf_string("32"))),
                   "key \"general.alignment\" is string"));
  Gguf far;
  far.entry("general.alignment", 4, raw(1u << 31)).tensor("t", {0}, 0, 0);
  EXPECT_TRUE(says(gguf_error(far), "padding before the data"));
}

TEST(MalformedGguf, NumberOfDimensions) {
  for (const std::uint32_t rank : {5u, 9u, UINT32_MAX}) {
    Gguf g;
    g.tensors = gguf_string("t") + raw(rank) + std::string(128, '\1');
    g.tensor_count = 1;
    EXPECT_TRUE(says(gguf_error(g),
                     "tensor \"t\": " + std::to_string(rank) + " dimensions, expected at most 4"));
  }
}

TEST(MalformedGguf, ProductOfDimensionsMayNotOverflow) {
  const auto message = [](std::initializer_list<std::uint64_t> ne) {
    Gguf g;
    g.tensor("t", ne, 0, 0).data.resize(64);
    return gguf_error(g);
  };
  const std::uint64_t big = std::uint64_t{1} << 42;
  EXPECT_TRUE(says(message({INT64_MAX, 2}), "the number of elements overflows 64 bits"));
  EXPECT_TRUE(says(message({1ull << 32, 1ull << 32}), "the number of elements overflows 64 bits"));
  EXPECT_TRUE(says(message({0, 1ull << 62, 4}), "the number of elements overflows 64 bits"));
  EXPECT_TRUE(says(message({1152, big * 4096}), "the number of elements overflows 64 bits"));
  EXPECT_TRUE(says(message({1152, big + 1}), "needs 20266198323171840"));
  EXPECT_TRUE(says(message({1ull << 62}), "the number of bytes overflows 64 bits"));
  EXPECT_TRUE(says(message({1ull << 63}), "extent 9223372036854775808, expected less than 2^63"));
  EXPECT_TRUE(says(message({0, all_ones}), "extent 18446744073709551615"));
}

TEST(MalformedGguf, ZeroDimensionsAreEmptyTensors) {
  Gguf g;
  g.tensor("t", {0, 4}, 0, 0).tensor("u", {4, 0}, 8, 0).tensor("v", {2}, 0, 0).data.resize(8);
  EXPECT_TRUE(says(gguf_error(g), "rows of 4 elements, Q8_0 needs a multiple of 32"));
  Gguf good;
  good.tensor("t", {0, 4}, 0, 0).tensor("u", {0, 4}, 8, 0).tensor("v", {2}, 0, 0).data.resize(8);
  const Memory memory(good.file());
  const GgufFile file(memory.span(), "model");
  EXPECT_EQ(file.at("t").elements(), 0);
  EXPECT_TRUE(file.at("t").bytes.empty());
  EXPECT_EQ(file.at("t").shape, (std::vector<ashlar::index_t>{4, 0}));
}

TEST(MalformedGguf, OffsetsOutsideTheFile) {
  const auto message = [](std::uint64_t offset) {
    Gguf g;
    g.tensor("t", {32}, 0, offset).data.resize(160);
    return gguf_error(g);
  };
  EXPECT_EQ(message(32), "");
  EXPECT_TRUE(
      says(message(64), "tensor \"t\" needs 128 bytes at byte 64 of the data, which has 160"));
  EXPECT_TRUE(says(message(all_ones - 63), "needs 128 bytes at byte 18446744073709551552"));
  EXPECT_TRUE(says(message(1ull << 63), "needs 128 bytes at byte 9223372036854775808"));
  EXPECT_TRUE(
      says(message(16), "tensor \"t\": offset 16, expected a multiple of the alignment 32"));
  Gguf unknown;  // a size that nobody knows: at least the place is checked
  unknown.tensor("t", {32}, 777, 1 << 20).data.resize(160);
  EXPECT_TRUE(says(gguf_error(unknown), "tensor \"t\" needs 0 bytes at byte 1048576"));
}

TEST(MalformedGguf, TensorsMayNotOverlap) {
  Gguf g;
  g.tensor("a", {16}, 0, 32).tensor("b", {16}, 0, 0).data.resize(96);
  EXPECT_TRUE(says(gguf_error(g), "tensors \"b\" and \"a\" overlap in the data at byte 32"));
  Gguf same;
  same.tensor("a", {8}, 0, 0).tensor("b", {8}, 0, 0).data.resize(32);
  EXPECT_TRUE(says(gguf_error(same), "overlap in the data at byte 0"));
}

}  // namespace
