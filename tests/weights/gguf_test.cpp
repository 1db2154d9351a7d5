#include <gtest/gtest.h>

#include <ashlar/weights/gguf.hpp>
#include <filesystem>
#include <fstream>

#include "weights/build_files.hpp"

namespace {

using ashlar::DType;
using ashlar::GgufFile;
using ashlar::index_t;
using build::error_of;
using build::Gguf;
using build::gguf_string;
using build::Memory;
using build::raw;
using build::raw_all;
using build::says;

Gguf with_every_value() {
  Gguf g;
  g.entry("u8", 0, raw<std::uint8_t>(200)).entry("i8", 1, raw<std::int8_t>(-100));
  g.entry("u16", 2, raw<std::uint16_t>(60000)).entry("i16", 3, raw<std::int16_t>(-30000));
  g.entry("u32", 4, raw<std::uint32_t>(4000000000)).entry("i32", 5, raw<std::int32_t>(-2000000000));
  g.entry("f32", 6, raw(0.5f)).entry("true", 7, raw<std::uint8_t>(1));
  g.entry("false", 7, raw<std::uint8_t>(0)).entry("string", 8, gguf_string("text"));
  g.entry("u64", 10, raw<std::uint64_t>(1) + "").entry("i64", 11, raw<std::int64_t>(INT64_MIN));
  g.entry("big", 10, raw<std::uint64_t>(UINT64_MAX)).entry("f64", 12, raw(1e-300));
  g.array("strings", 8, 3, gguf_string("a") + gguf_string("") + gguf_string("\xff\0b"));
  g.array("i32s", 5, 2, raw_all<std::int32_t>({-7, 9})).array("f32s", 6, 2, raw_all({1.5f, -2.0f}));
  g.array("none", 8, 0, "").array("bools", 7, 2, std::string("\0\1", 2));
  return g;
}

TEST(Gguf, ReadsEveryKindOfValue) {
  const Memory memory(with_every_value().file());
  const GgufFile file(memory.span(), "memory");
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.alignment(), 32);
  EXPECT_EQ(file.metadata().size(), 19u);
  EXPECT_EQ(file.metadata()[3].name, "i16");
  EXPECT_EQ(file.integer("u8"), 200);
  EXPECT_EQ(file.integer("i8"), -100);
  EXPECT_EQ(file.integer("u16"), 60000);
  EXPECT_EQ(file.integer("i16"), -30000);
  EXPECT_EQ(file.integer("u32"), 4000000000);
  EXPECT_EQ(file.integer("i32"), -2000000000);
  EXPECT_EQ(file.integer("u64"), 1);
  EXPECT_EQ(file.integer("i64"), INT64_MIN);
  EXPECT_EQ(file.number("f32"), 0.5);
  EXPECT_EQ(file.number("f64"), 1e-300);
  EXPECT_EQ(file.number("i8"), -100.0);
  EXPECT_TRUE(file.boolean("true"));
  EXPECT_FALSE(file.boolean("false"));
  EXPECT_EQ(file.string("string"), "text");
  EXPECT_EQ(file.strings("strings"), (std::vector<std::string_view>{"a", "", "\xff\0b"}));
  EXPECT_EQ(file.integers("i32s"), (std::vector<std::int64_t>{-7, 9}));
  EXPECT_EQ(file.numbers("i32s"), (std::vector<double>{-7, 9}));
  EXPECT_EQ(file.numbers("f32s"), (std::vector<double>{1.5, -2.0}));
  EXPECT_TRUE(file.strings("none").empty());
  EXPECT_EQ(file.find_key("bools")->type_name(), "array of bool");
}

TEST(Gguf, FallbacksStandForAbsentKeysOnly) {
  const Memory memory(with_every_value().file());
  const GgufFile file(memory.span(), "memory");
  EXPECT_EQ(file.integer("absent", 5), 5);
  EXPECT_EQ(file.integer("u8", 5), 200);
  EXPECT_EQ(file.number("absent", 0.25), 0.25);
  EXPECT_EQ(file.number("f32", 0.25), 0.5);
  EXPECT_TRUE(file.boolean("absent", true));
  EXPECT_FALSE(file.boolean("false", true));
  EXPECT_EQ(file.string("absent", "other"), "other");
  EXPECT_EQ(file.string("string", "other"), "text");
  EXPECT_TRUE(says(error_of([&] { file.integer("string", 5); }), "expected a 64-bit integer"));
}

TEST(Gguf, AccessorsNameKeyAndTypes) {
  const Memory memory(with_every_value().file());
  const GgufFile file(memory.span(), "memory");
  const auto message = [](auto f) { return error_of(f); };
  EXPECT_TRUE(says(message([&] { file.integer("nope"); }), "memory: has no key \"nope\""));
  EXPECT_TRUE(says(message([&] { file.integer("f32"); }),
                   "memory: key \"f32\" is f32, expected a 64-bit integer"));
  EXPECT_TRUE(says(message([&] { file.integer("big"); }), "is u64, expected a 64-bit integer"));
  EXPECT_TRUE(says(message([&] { file.integer("true"); }), "is bool, expected a 64-bit integer"));
  EXPECT_TRUE(says(message([&] { file.integer("i32s"); }), "is array of i32, expected a 64-bit"));
  EXPECT_TRUE(says(message([&] { file.number("string"); }), "is string, expected a number"));
  EXPECT_TRUE(says(message([&] { file.boolean("u8"); }), "is u8, expected a bool"));
  EXPECT_TRUE(says(message([&] { file.string("u8"); }), "is u8, expected a string"));
  EXPECT_TRUE(says(message([&] { file.string("strings"); }), "is array of string, expected a str"));
  EXPECT_TRUE(
      says(message([&] { file.strings("string"); }), "is string, expected an array of str"));
  EXPECT_TRUE(
      says(message([&] { file.integers("f32s"); }), "is array of f32, expected an array of"));
  EXPECT_TRUE(says(message([&] { file.integers("u8"); }), "is u8, expected an array of 64-bit"));
  EXPECT_TRUE(
      says(message([&] { file.numbers("strings"); }), "is array of string, expected an arr"));
}

TEST(Gguf, ShapesAreRowMajorAndOffsetZeroIsATensor) {
  Gguf g;
  g.tensor("first", {3, 2}, 0, 0).tensor("second", {2}, 30, 32).tensor("scalar", {}, 28, 64);
  g.data = raw_all({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}) + std::string(8, '\0') +
           raw_all<std::uint16_t>({0x3f80, 0x4000}) + std::string(28, '\0') + raw(2.5);
  for (const std::uint32_t version : {2u, 3u}) {
    g.version = version;
    const Memory memory(g.file());
    const GgufFile file(memory.span(), "memory");
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.at("first").shape, (std::vector<index_t>{2, 3}));
    std::vector<float> first(6), second(2), scalar(1);
    ashlar::read_f32(file.at("first"), first);
    ashlar::read_f32(file.at("second"), second);
    ashlar::read_f32(file.at("scalar"), scalar);
    EXPECT_EQ(first, (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(second, (std::vector<float>{1, 2}));
    EXPECT_EQ(scalar, std::vector<float>{2.5f});
  }
}

TEST(Gguf, KnowsTheBlockSizesOfTheTypes) {
  const struct {
    std::uint32_t id;
    DType dtype;
    std::uint64_t elements, bytes;
    const char* name;
  } types[] = {{0, DType::f32, 1, 4, "F32"},        {1, DType::f16, 1, 2, "F16"},
               {2, DType::q4_0, 32, 18, "Q4_0"},    {3, DType::q4_1, 32, 20, "Q4_1"},
               {6, DType::q5_0, 32, 22, "Q5_0"},    {7, DType::q5_1, 32, 24, "Q5_1"},
               {8, DType::q8_0, 32, 34, "Q8_0"},    {12, DType::q4_k, 256, 144, "Q4_K"},
               {13, DType::q5_k, 256, 176, "Q5_K"}, {14, DType::q6_k, 256, 210, "Q6_K"},
               {24, DType::i8, 1, 1, "I8"},         {25, DType::i16, 1, 2, "I16"},
               {26, DType::i32, 1, 4, "I32"},       {27, DType::i64, 1, 8, "I64"},
               {28, DType::f64, 1, 8, "F64"},       {30, DType::bf16, 1, 2, "BF16"}};
  for (const auto& type : types) {
    Gguf g;
    g.tensor("t", {type.elements * 2, 3}, type.id, 0);
    g.data.resize(type.bytes * 2 * 3);
    const Memory memory(g.file());
    const GgufFile file(memory.span(), "memory");
    EXPECT_EQ(file.at("t").dtype, type.dtype) << type.name;
    EXPECT_EQ(file.at("t").type_name, type.name);
    EXPECT_EQ(file.at("t").bytes.size(), type.bytes * 6) << type.name;
    g.data.pop_back();
    EXPECT_TRUE(says(error_of([&] { GgufFile(Memory(g.file()).span(), "memory"); }), "truncated?"));
    if (type.elements == 1) continue;
    Gguf half_block;
    half_block.tensor("t", {type.elements / 2, 4}, type.id, 0);
    half_block.data.resize(4096);
    EXPECT_TRUE(
        says(error_of([&] { GgufFile(Memory(half_block.file()).span(), "memory"); }),
             std::string(type.name) + " needs a multiple of " + std::to_string(type.elements)));
  }
}

TEST(Gguf, ListsTypesWithoutAReader) {
  Gguf g;
  g.tensor("a", {256}, 23, 0)
      .tensor("b", {32}, 777, 32)
      .tensor("c", {8}, 0, 64)
      .tensor("d", {3}, 31, 0);
  g.data.resize(96);
  const Memory memory(g.file());
  const GgufFile file(memory.span(), "memory");
  EXPECT_EQ(file.at("a").dtype, DType::unsupported);
  EXPECT_EQ(file.at("a").type_name, "IQ4_XS (23)");
  EXPECT_EQ(file.at("b").type_name, "unknown type (777)");
  EXPECT_EQ(file.at("d").type_name, "unknown type (31)");
  EXPECT_TRUE(file.at("a").bytes.empty());
  EXPECT_EQ(file.at("c").bytes.size(), 32u);
  std::vector<float> out(256);
  EXPECT_TRUE(says(error_of([&] { ashlar::read_f32(file.at("a"), out); }),
                   "tensor \"a\" has type IQ4_XS (23), expected F64, F32, F16 or BF16"));
}

TEST(Gguf, HonoursTheAlignment) {
  Gguf g;
  g.alignment = 128;
  g.entry("general.alignment", 4, raw(128u)).tensor("a", {1}, 0, 0).tensor("b", {1}, 0, 128);
  g.data = raw(1.0f) + std::string(124, '\0') + raw(2.0f);
  const Memory memory(g.file());
  const GgufFile file(memory.span(), "memory");
  EXPECT_EQ(file.alignment(), 128);
  EXPECT_EQ(ashlar::load<float>(file.at("a").bytes.data()), 1.0f);
  EXPECT_EQ(ashlar::load<float>(file.at("b").bytes.data()), 2.0f);
}

TEST(Gguf, FilesOfMetadataOnlyNeedNoPadding) {
  Gguf g;
  g.entry("general.name", 8, gguf_string("vocabulary"));
  const Memory memory(g.header());
  EXPECT_EQ(GgufFile(memory.span(), "memory").string("general.name"), "vocabulary");
}

TEST(Gguf, ReadsFilesAndNamesThoseItCannot) {
  const std::string path = ::testing::TempDir() + "ashlar_small.gguf";
  Gguf g;
  g.tensor("t", {1}, 0, 0).data = raw(4.0f);
  std::ofstream(path, std::ios::binary) << g.file();
  GgufFile file(path);
  GgufFile moved(std::move(file));
  EXPECT_EQ(ashlar::typed_view<float>(moved.at("t"))[0], 4.0f);
  EXPECT_EQ(moved.path(), path);
  std::filesystem::remove(path);
  EXPECT_TRUE(says(error_of([&] { GgufFile{path}; }), path + ": cannot be opened: "));
}

TEST(Gguf, NamesOtherKindsOfFile) {
  const auto message = [](std::string_view bytes) {
    return error_of([&] { GgufFile(Memory(bytes).span(), "model"); });
  };
  EXPECT_TRUE(says(message(build::safetensors("{}", "")),
                   "model: not a GGUF file, which starts with \"GGUF\"; this looks like a safet"));
  EXPECT_TRUE(says(message("GGML\x01\x02\x03\x04"), "it starts with \"GGML\\x01\\x02\\x03\\x04\""));
  EXPECT_TRUE(says(message("GG"), "not a GGUF file"));
  EXPECT_TRUE(says(message("version https://git-lfs.github.com/spec/v1"), "Git LFS pointer"));
}

}  // namespace
