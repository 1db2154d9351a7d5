#include <gtest/gtest.h>
#if !defined(_WIN32)
#  include <sys/stat.h>
#endif

#include <ashlar/weights/safetensors.hpp>
#include <ashlar/weights/safetensors_writer.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "weights/build_files.hpp"

namespace {

using ashlar::bfloat16;
using ashlar::DType;
using ashlar::half;
using ashlar::index_t;
using ashlar::SafetensorsFile;
using ashlar::TensorInfo;
using ashlar::TrailingBytes;
using build::error_of;
using build::Memory;
using build::raw;
using build::raw_all;
using build::safetensors;
using build::says;

std::vector<float> values(const TensorInfo& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.elements()));
  ashlar::read_f32(tensor, out);
  return out;
}

/// A new folder that goes away with the test.
class Safetensors : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(::testing::TempDir()) / ("ashlar_" + name);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Safetensors, ReadsEveryFloatType) {
  const Memory memory(safetensors(R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
                                  R"("b":{"dtype":"F32","shape":[1,3],"data_offsets":[16,28]},)"
                                  R"("c":{"dtype":"F16","shape":[2],"data_offsets":[28,32]},)"
                                  R"("d":{"dtype":"BF16","shape":[2,1],"data_offsets":[32,36]}})",
                                  raw_all({0.5, 1e300}) + raw_all({1.25f, -3.0f, 0.0f}) +
                                      raw_all<std::uint16_t>({0x3c00, 0xc100}) +
                                      raw_all<std::uint16_t>({0x3f80, 0xc0a0})));
  const SafetensorsFile file(memory.span(), "memory");
  ASSERT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.at("a").dtype, DType::f64);
  EXPECT_EQ(values(file.at("a")), (std::vector<float>{0.5f, HUGE_VALF}));
  EXPECT_EQ(file.at("b").shape, (std::vector<index_t>{1, 3}));
  EXPECT_EQ(values(file.at("b")), (std::vector<float>{1.25f, -3.0f, 0.0f}));
  EXPECT_EQ(file.at("c").dtype, DType::f16);
  EXPECT_EQ(values(file.at("c")), (std::vector<float>{1.0f, -2.5f}));
  EXPECT_EQ(file.at("d").dtype, DType::bf16);
  EXPECT_EQ(values(file.at("d")), (std::vector<float>{1.0f, -5.0f}));
  EXPECT_TRUE(says(error_of([&] { file.at("e"); }), "memory: has no tensor \"e\""));
  EXPECT_EQ(file.find("e"), nullptr);
}

TEST_F(Safetensors, ListsEveryTypeOfTheFormat) {
  const struct {
    const char* name;
    int bits;
    DType dtype;
  } types[] = {{"BOOL", 8, DType::boolean},
               {"U8", 8, DType::u8},
               {"I8", 8, DType::i8},
               {"F8_E5M2", 8, DType::unsupported},
               {"F8_E4M3", 8, DType::unsupported},
               {"F8_E8M0", 8, DType::unsupported},
               {"F8_E4M3FNUZ", 8, DType::unsupported},
               {"F8_E5M2FNUZ", 8, DType::unsupported},
               {"I16", 16, DType::i16},
               {"U16", 16, DType::u16},
               {"F16", 16, DType::f16},
               {"BF16", 16, DType::bf16},
               {"I32", 32, DType::i32},
               {"U32", 32, DType::u32},
               {"F32", 32, DType::f32},
               {"I64", 64, DType::i64},
               {"U64", 64, DType::u64},
               {"F64", 64, DType::f64},
               {"C64", 64, DType::unsupported},
               {"F4", 4, DType::unsupported},
               {"F6_E2M3", 6, DType::unsupported},
               {"F6_E3M2", 6, DType::unsupported}};
  for (const auto& [name, bits, dtype] : types) {
    const int bytes = 4 * bits / 8;
    const Memory memory(safetensors(std::string("{\"t\":{\"dtype\":\"") + name +
                                        R"(","shape":[4],"data_offsets":[0,)" +
                                        std::to_string(bytes) + "]}}",
                                    std::string(static_cast<std::size_t>(bytes), '\0')));
    const SafetensorsFile file(memory.span(), "memory");
    EXPECT_EQ(file.at("t").dtype, dtype) << name;
    EXPECT_EQ(file.at("t").type_name, name);
    EXPECT_EQ(file.at("t").bytes.size(), static_cast<std::size_t>(bytes)) << name;
    if (ashlar::is_float(dtype)) continue;
    EXPECT_TRUE(
        says(error_of([&] { values(file.at("t")); }),
             ashlar::join("tensor \"t\" has type ", name, ", expected F64, F32, F16 or BF16")));
  }
}

TEST_F(Safetensors, AcceptsScalarsEmptyTensorsMetadataAndAnyOrder) {
  const Memory memory(safetensors(R"({"late":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
                                  R"("__metadata__":{"format":"pt","note":"a \"b\""},)"
                                  R"("empty":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},)"
                                  R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
                                  raw_all({7.0f, 8.0f, 9.0f})));
  const SafetensorsFile file(memory.span(), "memory");
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, "late");
  EXPECT_EQ(file.at("scalar").elements(), 1);
  EXPECT_TRUE(file.at("scalar").shape.empty());
  EXPECT_EQ(values(file.at("scalar")), std::vector<float>{7.0f});
  EXPECT_EQ(file.at("empty").elements(), 0);
  EXPECT_TRUE(values(file.at("empty")).empty());
  EXPECT_EQ(values(file.at("late")), (std::vector<float>{8.0f, 9.0f}));
  EXPECT_EQ(file.metadata().at("note"), "a \"b\"");
  const Memory nothing(safetensors("{}", ""));
  EXPECT_TRUE(SafetensorsFile(nothing.span(), "memory").tensors().empty());
}

// The data may begin at any byte: here at an odd one.
TEST_F(Safetensors, ReadsMisalignedTensorsByCopyAndRefusesViewsOfThem) {
  std::string header = R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})";
  header.append(header.size() % 2 == 0 ? 1 : 0, ' ');
  const Memory memory(safetensors(header, raw_all({1.0f, 2.0f, 3.0f})));
  const SafetensorsFile file(memory.span(), "memory");
  EXPECT_EQ(values(file.at("t")), (std::vector<float>{1.0f, 2.0f, 3.0f}));
  EXPECT_EQ(ashlar::load<float>(file.at("t").bytes.data() + 4), 2.0f);
  EXPECT_TRUE(says(error_of([&] { ashlar::typed_view<float>(file.at("t")); }),
                   "tensor \"t\" of type F32 is not aligned to 4 bytes"));
}

TEST_F(Safetensors, ViewsAlignedTensorsInPlace) {
  std::string header = R"({"t":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  const Memory memory(safetensors(header, raw_all<std::int64_t>({-5, 1LL << 40})));
  const SafetensorsFile file(memory.span(), "memory");
  const auto view = ashlar::typed_view<std::int64_t>(file.at("t"));
  ASSERT_EQ(view.size(), 2u);
  EXPECT_EQ(view[0], -5);
  EXPECT_EQ(view[1], 1LL << 40);
  EXPECT_EQ(static_cast<const void*>(view.data()), file.at("t").bytes.data());
  EXPECT_TRUE(says(error_of([&] { ashlar::typed_view<double>(file.at("t")); }),
                   "tensor \"t\" has type I64, expected F64"));
}

TEST_F(Safetensors, ConversionChecksTheSizeAgain) {
  const float one = 1;
  TensorInfo tensor{"t", DType::f32, "F32", {4}, std::as_bytes(std::span(&one, 1))};
  std::vector<float> out(4);
  EXPECT_TRUE(says(error_of([&] { ashlar::read_f32(tensor, out); }),
                   "tensor \"t\" has 4 bytes, its shape needs 16"));
  out.resize(3);
  EXPECT_TRUE(says(error_of([&] { ashlar::read_f32(tensor, out); }),
                   "read_f32: tensor \"t\" has 4 elements, the output has 3"));
  tensor.dtype = DType::i32;
  tensor.type_name = "I32";
  out.resize(4);
  EXPECT_EQ(error_of([&] { ashlar::read_f32(tensor, out, "folder/file"); }),
            "folder/file: tensor \"t\" has type I32, expected F64, F32, F16 or BF16");
}

TEST_F(Safetensors, TrailingBytesAreRefusedOrIgnored) {
  const Memory memory(
      safetensors(R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "abcdef"));
  EXPECT_TRUE(says(error_of([&] { SafetensorsFile(memory.span(), "memory"); }),
                   "memory: 4 bytes after the last tensor, expected none"));
  const SafetensorsFile file(memory.span(), "memory", TrailingBytes::ignore);
  EXPECT_EQ(file.at("t").bytes.size(), 2u);
}

TEST_F(Safetensors, ReadsFilesAndNamesThoseItCannot) {
  const std::string good =
      write("good.safetensors",
            safetensors(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"));
  SafetensorsFile file(good);
  SafetensorsFile moved(std::move(file));
  EXPECT_EQ(moved.path(), good);
  EXPECT_EQ(moved.at("t").bytes[0], std::byte{'x'});

  const std::string none = path("none.safetensors");
  EXPECT_TRUE(says(error_of([&] { SafetensorsFile{none}; }), none + ": cannot be opened: "));
  EXPECT_TRUE(
      says(error_of([&] { SafetensorsFile{path(".")}; }), ": is a folder, expected a file"));
  EXPECT_TRUE(says(error_of([&] { SafetensorsFile{write("empty", "")}; }), "empty: is empty"));
}

TEST_F(Safetensors, RefusesAHeaderAboveTheLimitEvenIfTheFileHasIt) {
  const std::string file = write("big", raw(std::uint64_t{100'000'001}) + "{}");
  std::filesystem::resize_file(file, 100'000'100);  // a hole: takes no room on disk
  EXPECT_TRUE(
      says(error_of([&] { SafetensorsFile{file}; }), "header length 100000001 is above 100000000"));
}

TEST_F(Safetensors, NamesOtherKindsOfFile) {
  const auto message = [&](std::string_view bytes) {
    return error_of([&] { SafetensorsFile(Memory(bytes).span(), "model"); });
  };
  EXPECT_TRUE(says(message("GGUF" + raw(3u) + raw(std::uint64_t{1}) + raw(std::uint64_t{1})),
                   "model: not a complete safetensors file"));
  EXPECT_TRUE(says(message("GGUF" + raw(3u) + raw(std::uint64_t{1})), "this is a GGUF file"));
  EXPECT_TRUE(says(message("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
                   "this is a Git LFS pointer"));
  EXPECT_TRUE(
      says(message(std::string("PK\x03\x04\x14\0\0\0\0\0\0\0", 12)), "this is a ZIP archive"));
  EXPECT_TRUE(says(message("<!DOCTYPE html><html>"), "it starts with \"<!DOCTYPE html><\""));
}

// ---- sharded ----

constexpr std::string_view shard_a = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
constexpr std::string_view shard_b = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";

TEST_F(Safetensors, ReadsShards) {
  write("one.safetensors", safetensors(shard_a, "A"));
  write("two.safetensors", safetensors(shard_b, "B"));
  const std::string index =
      write("model.safetensors.index.json",
            R"({"weight_map":{"b":"two.safetensors","a":"one.safetensors"}})");
  const ashlar::ShardedSafetensors direct(index);
  EXPECT_EQ(direct.tensors()[0].name, "b");
  const auto source = ashlar::open_safetensors_folder(path(""));
  ASSERT_EQ(source->tensors().size(), 2u);
  EXPECT_EQ(source->at("a").bytes[0], std::byte{'A'});
  EXPECT_EQ(source->at("b").bytes[0], std::byte{'B'});
}

TEST_F(Safetensors, FolderPrefersTheSingleFileAndNeedsOne) {
  EXPECT_TRUE(says(error_of([&] { ashlar::open_safetensors_folder(path("")); }),
                   "has neither model.safetensors nor model.safetensors.index.json"));
  write("model.safetensors.index.json", R"({"weight_map":{"b":"two.safetensors"}})");
  write("model.safetensors", safetensors(shard_a, "A"));
  EXPECT_NE(ashlar::open_safetensors_folder(path(""))->find("a"), nullptr);
}

TEST_F(Safetensors, ReportsAllShardsAndTensorsThatAreMissing) {
  write("one.safetensors", safetensors(shard_a, "A"));
  write("model.safetensors.index.json",
        R"({"weight_map":{"a":"one.safetensors","x":"one.safetensors","y":"two.safetensors",)"
        R"("z":"two.safetensors","w":"three.safetensors"}})");
  const std::string message = error_of([&] { ashlar::open_safetensors_folder(path("")); });
  EXPECT_TRUE(says(message, "tensor \"x\" is not in one.safetensors"));
  EXPECT_TRUE(says(message, "shard \"two.safetensors\" is missing"));
  EXPECT_TRUE(says(message, "shard \"three.safetensors\" is missing"));
}

TEST_F(Safetensors, RefusesShardIndexesThatAreNotStandard) {
  write("one.safetensors", safetensors(shard_a, "A"));
  const auto message = [&](std::string_view index) {
    const std::string file = write("model.safetensors.index.json", index);
    return error_of([&] { ashlar::ShardedSafetensors{file}; });
  };
  for (const char* name : {"../one.safetensors", "/etc/passwd", "sub/one.safetensors", "..", ".",
                           "", "a\\\\b", "c:one", "one\\u0000"})
    EXPECT_TRUE(says(message(std::string(R"({"weight_map":{"a":")") + name + "\"}}"),
                     "expected the plain name of a file in the same folder"))
        << name;
  EXPECT_TRUE(says(message(R"({"weight_map":{"a":{"file":"one.safetensors"}}})"),
                   "weight_map: \"a\" is an object, expected a string"));
  EXPECT_TRUE(says(message(R"({"metadata":{}})"), "has no key \"weight_map\""));
  EXPECT_TRUE(says(message(R"({"weight_map":[]})"), "weight_map is an array, expected an object"));
  EXPECT_TRUE(says(message("[1"), "index.json: JSON: byte 2"));
  EXPECT_TRUE(says(message(R"({"weight_map":{"a":"one.safetensors","a":"one.safetensors"}})"),
                   "duplicate key \"a\""));
}

// ---- writer ----

TEST_F(Safetensors, WritesTheFormatByteForByte) {
  const std::vector<double> a = {1.5};
  const std::vector<float> b = {2, 3}, c = {4};
  const std::vector<half> d = {half(1.0f)};
  ashlar::write_safetensors(
      path("out"),
      {ashlar::describe_tensor<half>("d", {1}, d), ashlar::describe_tensor<float>("c\"", {}, c),
       ashlar::describe_tensor<float>("b", {1, 2}, b),
       ashlar::describe_tensor<double>("a", {1}, a)},
      {{"key", "line\nbreak"}});
  std::string header = R"({"__metadata__":{"key":"line\u000abreak"},)"
                       R"("a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]},)"
                       R"("c\"":{"dtype":"F32","shape":[],"data_offsets":[16,20]},)"
                       R"("d":{"dtype":"F16","shape":[1],"data_offsets":[20,22]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(content("out"), safetensors(header, raw(1.5) + raw_all({2.0f, 3.0f, 4.0f}) +
                                                    raw(std::uint16_t{0x3c00})));
  EXPECT_FALSE(std::filesystem::exists(path("out.part")));
  const SafetensorsFile back(path("out"));
  EXPECT_EQ(back.metadata().at("key"), "line\nbreak");
  EXPECT_EQ(ashlar::typed_view<double>(back.at("a"))[0], 1.5);
}

TEST_F(Safetensors, WritesNothingOfATensorThatDoesNotFit) {
  const std::vector<float> x = {1, 2};
  const TensorInfo good = ashlar::describe_tensor<float>("t", {2}, x);
  const auto message = [&](std::vector<TensorInfo> tensors) {
    return error_of([&] { ashlar::write_safetensors(path("out"), tensors); });
  };
  TensorInfo bad = good;
  bad.shape = {3};
  EXPECT_TRUE(says(message({bad}), "tensor \"t\" has 8 bytes, its shape needs 12"));
  bad = good;
  bad.dtype = DType::q8_0;
  bad.type_name = "Q8_0";
  EXPECT_TRUE(says(message({bad}), "tensor \"t\" has type Q8_0, expected a plain number type"));
  EXPECT_TRUE(says(message({good, good}), "tensor \"t\" is given twice"));
  bad = good;
  bad.name = "\xff";
  EXPECT_TRUE(says(message({bad}), "is not UTF-8"));
  bad.name = "__metadata__";
  EXPECT_TRUE(says(message({bad}), "the name kept for metadata"));
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  EXPECT_TRUE(says(error_of([&] { ashlar::describe_tensor<float>("t", {3}, x); }),
                   "tensor \"t\" has 2 values, expected 3"));
}

TEST_F(Safetensors, FailedWritesLeaveNothingBehind) {
  const std::vector<float> x = {1, 2};
  const std::vector<TensorInfo> tensors = {ashlar::describe_tensor<float>("t", {2}, x)};
  EXPECT_TRUE(says(error_of([&] { ashlar::write_safetensors(path("no/out"), tensors); }),
                   "no/out.part: cannot be created: "));
  std::filesystem::create_directories(path("taken/by a folder"));
  EXPECT_TRUE(says(error_of([&] { ashlar::write_safetensors(path("taken"), tensors); }),
                   "taken: is no plain file, expected one or a name that is free"));
  EXPECT_FALSE(std::filesystem::exists(path("taken.part")));
}

#if !defined(_WIN32)
TEST_F(Safetensors, WritesNoDeviceAndFollowsLinks) {
  namespace fs = std::filesystem;
  const std::vector<float> x = {1, 2}, y = {3};
  const std::vector<TensorInfo> tensors = {ashlar::describe_tensor<float>("t", {2}, x)};
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(says(error_of([&] { ashlar::write_safetensors(path("pipe"), tensors); }),
                   "pipe: is no plain file, expected one or a name that is free"));
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  ASSERT_EQ(::mkfifo(path("out.part").c_str(), 0600), 0);
  EXPECT_TRUE(says(error_of([&] { ashlar::write_safetensors(path("out"), tensors); }),
                   "out.part: is no plain file"));

  ashlar::write_safetensors(path("file"), {ashlar::describe_tensor<float>("t", {1}, y)});
  fs::create_symlink(path("file"), path("link"));
  ashlar::write_safetensors(path("link"), tensors);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(values(SafetensorsFile(path("file")).at("t")), x);
}
#endif

// ---- files of other implementations ----

TEST_F(Safetensors, ReadsFilesWrittenByTheReferenceImplementation) {
  const std::string model = ASHLAR_TEST_DATA "/decoder/llama2/model.safetensors";
  const std::string expected = ASHLAR_TEST_DATA "/decoder/llama2/expected.safetensors";
  if (!std::filesystem::exists(model) || !std::filesystem::exists(expected))
    GTEST_SKIP() << "no decoder/llama2";
  // The numbers come from NumPy on the same files.
  const SafetensorsFile weights(model);
  EXPECT_EQ(weights.tensors().size(), 30u);
  EXPECT_EQ(weights.metadata().at("format"), "pt");
  const TensorInfo& embedding = weights.at("model.embed_tokens.weight");
  EXPECT_EQ(embedding.shape, (std::vector<index_t>{101, 36}));
  const std::vector<float> x = values(embedding);
  EXPECT_EQ(x.front(), 0.03155432f);
  EXPECT_EQ(x.back(), 0.6096105f);
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v);
  EXPECT_NEAR(sum, 19.4615588821689, 1e-12);

  const SafetensorsFile outputs(expected);
  const TensorInfo& ids = outputs.at("input_ids");
  EXPECT_EQ(ids.dtype, DType::i64);
  EXPECT_EQ(ids.shape, (std::vector<index_t>{2, 21}));
  std::int64_t total = 0;
  for (std::size_t i = 0; i < 42; ++i)
    total += ashlar::load<std::int64_t>(ids.bytes.data() + 8 * i);
  EXPECT_EQ(total, 1952);
  EXPECT_EQ(outputs.metadata().at("family"), "llama");

  const std::string softmax = ASHLAR_TEST_DATA "/ops/softmax.safetensors";
  if (!std::filesystem::exists(softmax)) GTEST_SKIP() << "no ops/softmax";
  const std::vector<float> lse = values(SafetensorsFile(softmax).at("case1.log_sum_exp"));
  EXPECT_EQ(lse.size(), 3u);
  EXPECT_EQ(lse.front(), 3.2141647f);
  EXPECT_EQ(lse.back(), 3.4445062f);
}

}  // namespace
