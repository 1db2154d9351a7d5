// How a rule says that a weight is stored: every element is traced by the position it came from.
#include <gtest/gtest.h>

#include <ashlar/backend/thread_pool.hpp>
#include <ashlar/weights/gguf.hpp>
#include <functional>

#include "build_files.hpp"
#include "store_files.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar;
using store_test::File;
using store_test::Floats;
using store_test::values;

/// Weights of any names; the map's rules are of the form {name, stored, ..}.
struct Loaded {
  struct Matrix {
    std::string name;
    index_t rows, columns;
    WeightMatrix view{};
  };
  struct Vector {
    std::string name;
    index_t size;
    VectorView<const float> view{};
  };
  std::vector<Matrix> matrices{};
  std::vector<Vector> vectors{};
  WeightStore store{};

  void load(const TensorSource& source, const NameMap& names, const Executor& executor = {}) {
    store.load(
        source, names, executor,
        [&](auto&& f) {
          for (Matrix& m : matrices) f(m.name, m.view, {m.rows, m.columns});
          for (Vector& v : vectors) f(v.name, v.view, {v.size});
        },
        store_test::ignore_progress);
  }
  std::string error(const TensorSource& source, const NameMap& names) {
    const std::string message = build::error_of([&] { load(source, names); });
    for (const Matrix& m : matrices) EXPECT_TRUE(m.view.empty());
    for (const Vector& v : vectors) EXPECT_EQ(v.view.data(), nullptr);
    EXPECT_EQ(store.bytes(), 0);
    return message;
  }
};

/// Element e of a stored tensor, small whole numbers that every type holds: its position where that
/// is below 251, else something that differs between neighbours, rows and columns.
float element(index_t e) { return static_cast<float>(e % 251 - 125); }

/// The tensor of `count` elements of a type that packs; Q8_0 has scale 1 / 2.
std::string bytes_of(const std::string& type, index_t count) {
  std::string bytes;
  for (index_t e = 0; e < count; ++e) {
    if (type == "Q8_0") {
      if (e % 32 == 0) bytes += build::raw(half(0.5f));
      bytes += build::raw(static_cast<std::int8_t>(element(e)));
    } else if (type == "BF16") {
      bytes += build::raw(bfloat16(element(e)));
    } else if (type == "F16") {
      bytes += build::raw(half(element(e)));
    } else {
      bytes += build::raw(element(e));
    }
  }
  return bytes;
}
index_t product(const std::vector<index_t>& shape) {
  index_t n = 1;
  for (const index_t extent : shape) n *= extent;
  return n;
}
/// What is expected: element (n, k) of the weight is element at(n, k) of the stored tensor.
using At = std::function<index_t(index_t, index_t)>;
Floats traced(index_t rows, index_t columns, const At& at, float scale = 1) {
  Floats all;
  for (index_t n = 0; n < rows; ++n)
    for (index_t k = 0; k < columns; ++k) all.push_back(scale * element(at(n, k)));
  return all;
}

struct Case {
  const char* what;
  std::vector<index_t> stored;
  StoredAs as;
  index_t rows, columns;
  At at;
};
std::vector<Case> matrix_cases() {
  std::vector<Case> cases;
  // Falcon: 5 kv groups of width 7: 3 query heads, k, v; rows of 9. By blocks larger and smaller
  // than a panel's 16 rows.
  const auto falcon = [&](const char* what, index_t first, index_t heads) {
    const index_t H = 7, period = 5 * H, block = heads * H;
    for (const bool transposed : {false, true}) {
      std::vector<index_t> stored = {5 * period, 9};
      if (transposed) std::swap(stored[0], stored[1]);
      cases.push_back(
          {what,
           stored,
           {.first_row = first * H, .transposed = transposed, .block = block, .period = period},
           5 * block,
           9,
           [=](index_t n, index_t k) {
             const index_t head = n / H, group = head / heads;
             const index_t row = (group * 5 + first + head % heads) * H + n % H;
             return transposed ? k * 5 * period + row : row * 9 + k;
           }});
    }
  };
  falcon("q of groups", 0, 3);
  falcon("k of groups", 3, 1);
  falcon("v of groups", 4, 1);
  // Every other row; 19 of them, so that the last panel is partial.
  for (const index_t first : {0, 1})
    cases.push_back({"gate and up in turns",
                     {38, 5},
                     {.first_row = first, .block = 1, .period = 2},
                     19,
                     5,
                     [=](index_t n, index_t k) { return (2 * n + first) * 5 + k; }});
  cases.push_back({"rows before and after the periods",
                   {2 + 3 * 4 + 1, 3},
                   {.first_row = 3, .total_rows = 15, .block = 2, .period = 4},
                   6,
                   3,
                   [](index_t n, index_t k) { return (3 + n / 2 * 4 + n % 2) * 3 + k; }});
  const At in_order_54 = [](index_t n, index_t k) { return n * 54 + k; };
  cases.push_back({"patches", {17, 3, 6, 3}, {.reshaped = true}, 17, 54, in_order_54});
  cases.push_back({"a table", {1, 17, 54}, {.reshaped = true}, 17, 54, in_order_54});
  cases.push_back({"a class token", {1, 1, 54}, {.reshaped = true}, 1, 54, in_order_54});
  cases.push_back(
      {"patches as they should be", {17, 3, 6, 3}, {.shape = {17, 3, 6, 3}}, 17, 54, in_order_54});
  cases.push_back({"a table of its own", {1, 17, 54}, {.shape = {17, 54}}, 17, 54, in_order_54});
  cases.push_back({"unchanged", {17, 54}, {.reshaped = true}, 17, 54, in_order_54});
  // gpt-oss: 3 experts, each [in 7, out 2 * 6], gate and up in turns.
  for (const index_t first : {0, 1})
    cases.push_back(
        {"a stack of transposed matrices",
         {3, 7, 12},
         {.first_row = first, .transposed = true, .block = 1, .period = 2, .reshaped = true},
         18,
         7,
         [=](index_t n, index_t k) { return n / 6 * 84 + k * 12 + n % 6 * 2 + first; }});
  // Gemma 4: 3 experts of [gate 6; up 6] in one tensor; the up rows of all of them, of the last.
  cases.push_back({"a stack",
                   {3, 12, 7},
                   {.first_row = 6, .block = 6, .period = 12, .reshaped = true},
                   18,
                   7,
                   [](index_t n, index_t k) { return (n / 6 * 12 + 6 + n % 6) * 7 + k; }});
  cases.push_back({"one of a stack",
                   {3, 12, 7},
                   {.first_row = 30, .total_rows = 36, .reshaped = true},
                   6,
                   7,
                   [](index_t n, index_t k) { return (30 + n) * 7 + k; }});
  return cases;
}

TEST(StoredWeight, MatricesByPositionInEveryType) {
  ThreadPool pool(3);
  for (const Case& c : matrix_cases())
    for (const char* type : {"F32", "BF16", "F16"}) {
      File file;
      file.add("stored", type, c.stored, bytes_of(type, product(c.stored)));
      for (const std::size_t shift : {0u, 1u}) {
        const auto source = file.open(shift);
        Loaded w{.matrices = {{"w", c.rows, c.columns}}};
        w.load(source, {.model = {{"w", "stored", c.as}}}, shift ? pool.executor() : Executor{});
        EXPECT_TRUE(support::same_bits(values(w.matrices[0].view), traced(c.rows, c.columns, c.at)))
            << c.what << " " << type << (c.as.transposed ? " transposed" : "");
      }
    }
}

TEST(StoredWeight, QuantisedRowsStayWhole) {
  build::Gguf file;
  file.tensor("stored", {64, 10, 3}, 8, 0);  // Q8_0, [3, 10, 64]
  file.data = bytes_of("Q8_0", 3 * 10 * 64);
  const build::Memory memory(file.file());
  const GgufFile source(memory.span(), "file");
  Loaded w{.matrices = {{"k", 12, 64}, {"v", 6, 64}}};
  w.load(
      source,
      {.model = {{"k", "stored", {.first_row = 1, .block = 4, .period = 10, .reshaped = true}},
                 {"v", "stored", {.first_row = 8, .block = 2, .period = 10, .reshaped = true}}}});
  const auto expected = [](index_t first, index_t block) {
    const auto at = [=](index_t n, index_t k) {
      return (n / block * 10 + first + n % block) * 64 + k;
    };
    return traced(3 * block, 64, at, 0.5f);
  };
  EXPECT_TRUE(support::same_bits(values(w.matrices[0].view), expected(1, 4)));
  EXPECT_TRUE(support::same_bits(values(w.matrices[1].view), expected(8, 2)));

  Loaded other{.matrices = {{"w", 15, 128}}};  // the same elements, but other rows
  EXPECT_TRUE(build::says(other.error(source, {.model = {{"w", "stored", {.reshaped = true}}}}),
                          "stored has shape [3, 10, 64], expected [15, 128] or these rows"));
  Loaded columns{.matrices = {{"w", 30, 64}}};
  EXPECT_TRUE(build::says(
      columns.error(source, {.model = {{"w", "stored", {.transposed = true, .reshaped = true}}}}),
      "stored has shape [3, 10, 64], expected [64, 30]"));
  Loaded turned{.matrices = {{"w", 192, 10}}};
  EXPECT_TRUE(build::says(
      turned.error(source, {.model = {{"w", "stored", {.transposed = true, .reshaped = true}}}}),
      "stored has type Q8_0, expected F32, F16 or BF16"));
}

TEST(StoredWeight, VectorsByPosition) {
  const auto rows_of = [](const StoredAs& as, std::vector<index_t> shape, index_t size,
                          const std::string& type) {
    File file;
    file.add("stored", type, shape, bytes_of(type, product(shape)));
    const auto source = file.open(1);
    Loaded w{.vectors = {{"w", size}}};
    w.load(source, {.model = {{"w", "stored", as}}});
    return values(w.vectors[0].view);
  };
  for (const char* type : {"F32", "BF16", "F16"}) {
    // Biases of [q, k, v] a head, 3 heads of width 5.
    EXPECT_TRUE(support::same_bits(
        rows_of({.first_row = 5, .block = 5, .period = 15}, {45}, 15, type),
        traced(15, 1, [](index_t n, index_t) { return n / 5 * 15 + 5 + n % 5; })));
    const At in_order = [](index_t n, index_t) { return n; };
    for (const std::vector<index_t>& shape :
         {std::vector<index_t>{3, 7}, {1, 21}, {1, 1, 21}, {21}, {3, 1, 7}})
      EXPECT_TRUE(support::same_bits(rows_of({.reshaped = true}, shape, 21, type),
                                     traced(21, 1, in_order)));
    EXPECT_TRUE(
        support::same_bits(rows_of({.reshaped = true}, {}, 1, type), traced(1, 1, in_order)));
    EXPECT_TRUE(support::same_bits(rows_of({}, {1}, 1, type), traced(1, 1, in_order)));
  }
}

TEST(StoredWeight, ExtentsThatARuleNamesAreTheOnlyOnes) {
  const auto error = [](const StoredAs& as, std::vector<index_t> shape, Loaded w) {
    File file;
    file.add("stored", "F32", shape, bytes_of("F32", product(shape)));
    return w.error(file.open(), {.model = {{"w", "stored", as}}});
  };
  const auto vector = [] { return Loaded{.vectors = {{"w", 21}}}; };
  const auto matrix = [](index_t n) { return Loaded{.matrices = {{"w", n, 12}}}; };
  const StoredAs heads{.shape = {3, 7}};
  for (const std::vector<index_t>& shape : {std::vector<index_t>{3, 7}, {1, 3, 7}, {3, 1, 7}}) {
    File file;
    file.add("stored", "F32", shape, bytes_of("F32", 21));
    Loaded w{.vectors = {{"w", 21}}};
    w.load(file.open(), {.model = {{"w", "stored", heads}}});
    EXPECT_TRUE(support::same_bits(values(w.vectors[0].view),
                                   traced(21, 1, [](index_t n, index_t) { return n; })));
  }
  EXPECT_TRUE(
      build::says(error(heads, {7, 3}, vector()), "stored has shape [7, 3], expected [3, 7]"));
  EXPECT_TRUE(build::says(error(heads, {21}, vector()), "stored has shape [21], expected [3, 7]"));
  // [P, P, C, D] instead of [D, C, P, P], where D = C P P.
  EXPECT_TRUE(build::says(error({.shape = {12, 3, 2, 2}}, {2, 2, 3, 12}, matrix(12)),
                          "stored has shape [2, 2, 3, 12], expected [12, 3, 2, 2]"));
  // Rules that hold for no weight of this shape.
  const auto refused = [&](const StoredAs& as) {
    return build::says(error(as, {18, 12}, matrix(18)), "the rule for \"w\", [18, 12], lies in");
  };
  EXPECT_TRUE(refused({.shape = {18, 11}}));
  EXPECT_TRUE(refused({.shape = {12, 18}}));
  EXPECT_TRUE(refused({.shape = {18, 12, 0}}));
  EXPECT_TRUE(refused({.transposed = true, .shape = {18, 12}}));
  EXPECT_TRUE(refused({.shape = {index_t{1} << 40, index_t{1} << 40}}));
}

TEST(StoredWeight, AddsToVectorsInFloat) {
  File file;
  file.add("one", "F32", {3}, build::raw_all({1.f, 1.0000001f, -0.f}));
  file.add("two", "BF16", {4},
           build::raw_all({bfloat16(1.5f), bfloat16(0.f), bfloat16(3.f), bfloat16(-1.f)}));
  file.add("zero", "F32", {1}, build::raw(-0.f));
  const auto source = file.open();
  Loaded w{.vectors = {{"a", 3}, {"b", 2}, {"zero", 1}}};
  w.load(source, {.model = {{"a", "one", {.add = -1.f}},
                            {"b", "two", {.first_row = 1, .block = 1, .period = 2, .add = 2.f}},
                            {"zero", "zero"}}});
  EXPECT_TRUE(support::same_bits(values(w.vectors[0].view), Floats{0.f, 0x1p-23f, -1.f}));
  EXPECT_TRUE(support::same_bits(values(w.vectors[1].view), Floats{2.f, 1.f}));
  EXPECT_TRUE(support::same_bits(values(w.vectors[2].view), Floats{-0.f}));
}

TEST(StoredWeight, PartsLieOneBelowTheOther) {
  File file;  // part i of layer l counts from 1000 l + 100 i
  for (int l = 0; l < 2; ++l)
    for (int i = 0; i < 3; ++i) {
      const auto start = static_cast<float>(1000 * l + 100 * i);
      const std::string name = "h." + std::to_string(l) + ".norms." + std::to_string(i);
      file.count(name + ".w", {5}, start).count(name + ".m", {7, 2}, start);
      file.count(name + ".t", {2, 7}, start);
    }
  const auto source = file.open();
  Loaded w{.matrices = {{"layers.1.m", 21, 2},
                        {"layers.0.m", 21, 2},
                        {"layers.0.odd", 9, 2},
                        {"layers.0.t", 21, 2},
                        {"layers.1.t", 21, 2}},
           .vectors = {{"layers.0.norm", 15}, {"layers.1.norm", 15}}};
  w.load(source,
         {.layer = {{"norm", "h.{}.norms.{}.w", {.parts = 3}},
                    {"m", "h.{}.norms.{}.m", {.parts = 3}},
                    {"odd",
                     "h.{}.norms.{}.m",
                     {.first_row = 1, .total_rows = 21, .block = 1, .period = 2, .parts = 3}},
                    {"t", "h.{}.norms.{}.t", {.transposed = true, .parts = 3}}}});
  const auto expected = [](int layer, index_t rows, index_t part, index_t columns, auto row) {
    Floats all;
    for (index_t n = 0; n < rows; ++n)
      for (index_t k = 0; k < columns; ++k)
        all.push_back(
            static_cast<float>(1000 * layer + 100 * (row(n) / part) + row(n) % part * columns + k));
    return all;
  };
  const auto same = [](index_t n) { return n; };
  EXPECT_TRUE(support::same_bits(values(w.vectors[0].view), expected(0, 15, 5, 1, same)));
  EXPECT_TRUE(support::same_bits(values(w.vectors[1].view), expected(1, 15, 5, 1, same)));
  EXPECT_TRUE(support::same_bits(values(w.matrices[0].view), expected(1, 21, 7, 2, same)));
  EXPECT_TRUE(support::same_bits(values(w.matrices[1].view), expected(0, 21, 7, 2, same)));
  EXPECT_TRUE(support::same_bits(values(w.matrices[2].view),
                                 expected(0, 9, 7, 2, [](index_t n) { return 2 * n + 1; })));
  for (const int layer : {0, 1}) {
    Floats columns;
    for (int n = 0; n < 21; ++n)
      for (int k = 0; k < 2; ++k)
        columns.push_back(static_cast<float>(1000 * layer + 100 * (n / 7) + 7 * k + n % 7));
    EXPECT_TRUE(
        support::same_bits(values(w.matrices[static_cast<std::size_t>(3 + layer)].view), columns));
  }
}

TEST(StoredWeight, PartsMayEndInsideABlock) {
  File file;
  file.count("x.0", {8}).count("x.1", {8}, 8);
  const auto source = file.open();
  Loaded w{.vectors = {{"w", 12}}};
  const StoredAs as{.first_row = 1, .total_rows = 16, .block = 4, .period = 5, .parts = 2};
  w.load(source, {.model = {{"w", "x.{}", as}}});
  EXPECT_TRUE(support::same_bits(values(w.vectors[0].view),
                                 Floats{1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14}));
}

TEST(StoredWeight, LayersMayShareATensor) {
  File file;
  file.count("table", {4, 3}).count("bias", {5}, 50);
  const auto source = file.open();
  Loaded w{.matrices = {{"layers.0.table", 4, 3}, {"layers.17.table", 4, 3}},
           .vectors = {{"layers.0.bias", 5}, {"layers.17.bias", 5}}};
  w.load(source, {.layer = {{"table", "table"}, {"bias", "bias"}}});
  for (const auto& m : w.matrices)
    EXPECT_TRUE(support::same_bits(values(m.view), store_test::counted(12)));
  for (const auto& v : w.vectors)
    EXPECT_TRUE(support::same_bits(values(v.view), store_test::counted(5, 50)));
}

TEST(StoredWeight, OtherShapesAreOneMessage) {
  File file;
  file.count("heads", {3, 5}).count("kernel", {4, 3, 5}).count("stack", {2, 7, 6});
  file.count("fused", {30, 2}).count("part.0", {4}).count("part.2", {5});
  file.count("cut", {5, 6}).add("mixed.0", "F32", {1, 2}, std::string(8, '\0'));
  file.add("mixed.1", "F16", {1, 2}, std::string(4, '\0'));
  const auto source = file.open();
  Loaded w{.matrices = {{"kernel", 4, 16},
                        {"stack", 10, 7},
                        {"q", 12, 2},
                        {"k", 12, 2},
                        {"cut", 10, 3},
                        {"mixed", 2, 2},
                        {"v", 12, 2}},
           .vectors = {{"heads", 15}, {"parts", 12}}};
  const NameMap names{.model = {{"heads", "heads"},
                                {"kernel", "kernel", {.reshaped = true}},
                                {"stack", "stack", {.transposed = true, .reshaped = true}},
                                {"q", "fused", {.block = 4, .period = 12}},
                                {"k", "fused", {.first_row = 4, .block = 4, .period = 12}},
                                {"v", "fused", {.first_row = 8, .block = 4, .period = 12}},
                                {"cut", "cut", {.reshaped = true}},
                                {"mixed", "mixed.{}", {.parts = 2}},
                                {"parts", "part.{}", {.parts = 3}}}};
  EXPECT_EQ(w.error(source, names),
            "file: the tensors do not fit the model\n  missing: part.1\n  wrong: "
            "kernel has shape [4, 3, 5], expected [4, 16] or these rows in other extents, "
            "stack has shape [2, 7, 6], expected [7, 10] or these rows in other extents, "
            "fused has shape [30, 2], expected [36, 2], "
            "cut has shape [5, 6], expected [10, 3] or these rows in other extents, "
            "mixed.1 has type F16, expected F32 as mixed.0, "
            "heads has shape [3, 5], expected [15], part.2 has shape [5], expected [4]");
}

TEST(StoredWeight, RulesThatCannotHoldAreRefused) {
  File file;
  file.count("x", {12, 2}).count("v", {12});
  const auto source = file.open();
  const auto error = [&](const StoredAs& as) {
    Loaded w{.matrices = {{"w", 12, 2}}};
    return w.error(source, {.model = {{"w", "x", as}}});
  };
  for (const StoredAs& as : {StoredAs{.block = 5, .period = 10},
                             {.block = 4, .period = 3},
                             {.period = 3},
                             {.block = 4},
                             {.block = -4, .period = 4},
                             {.first_row = 1},
                             {.first_row = -1, .total_rows = 20},
                             {.total_rows = 11},
                             {.total_rows = -5},
                             {.first_row = 5, .block = 4, .period = 8},
                             {.block = 1, .period = index_t{1} << 60},
                             {.parts = 2},
                             {.parts = -1},
                             {.add = 1}})
    EXPECT_TRUE(build::says(error(as), "NameMap: the rule for \"w\", [12, 2], "));
  Loaded parts{.matrices = {{"w", 12, 2}}};
  EXPECT_TRUE(build::says(parts.error(source, {.model = {{"w", "x{}", {.parts = 5}}}}),
                          "has 12 rows in 5 parts"));
  Loaded vector{.vectors = {{"w", 12}}};
  EXPECT_TRUE(build::says(vector.error(source, {.model = {{"w", "v", {.transposed = true}}}}),
                          "is transposed, expected a matrix"));
}

TEST(StoredWeight, ManyPartsThatAreNotThereMakeNoLongList) {
  File file;
  file.count("x.0", {1}).count("x.1", {1});
  const auto source = file.open();
  Loaded w{.vectors = {{"w", index_t{1} << 40}}};
  EXPECT_EQ(w.error(source, {.model = {{"w", "x.{}", {.parts = index_t{1} << 40}}}}),
            "file: the tensors do not fit the model\n  missing: x.2");
}

}  // namespace
