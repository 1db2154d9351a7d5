// WeightStore: what lies where, one message for all that does not fit, nothing set after an error.
#include <gtest/gtest.h>

#include <ashlar/backend/scalar.hpp>
#include <ashlar/weights/safetensors.hpp>
#include <ashlar/weights/store.hpp>
#include <stdexcept>

#include "build_files.hpp"
#include "store_files.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar;
using store_test::counted;
using store_test::File;
using store_test::Floats;
using store_test::ignore_progress;
using store_test::values;

/// Weights of one layer whose q, k, v are rows of one tensor.
struct Fused {
  WeightMatrix q, k, v;
  VectorView<const float> k_bias;
  template <class F>
  void visit(F&& f) {
    f("layers.0.q", q, {20, 3});
    f("layers.0.k", k, {2, 3});
    f("layers.0.v", v, {2, 3});
    f("layers.0.k_bias", k_bias, {2});
  }
  static NameMap names(bool transposed) {
    return {.layer = {{"q", "h.{}.qkv", {0, 24, transposed}},
                      {"k", "h.{}.qkv", {20, 24, transposed}},
                      {"v", "h.{}.qkv", {22, 24, transposed}},
                      {"k_bias", "h.{}.bias", {20, 24}}}};
  }
};

template <class Weights>
auto visitor(Weights& w) {
  return [&w](auto&& f) { w.visit(f); };
}

TEST(WeightStore, TakesRowsOfFusedTensorsWhateverTheirAddress) {
  File file;
  file.count("h.0.qkv", {24, 3}).count("h.0.bias", {24}, 100);
  for (const std::size_t shift : {0u, 1u, 2u, 3u}) {
    const auto source = file.open(shift);
    Fused w;
    WeightStore store;
    store.load(source, Fused::names(false), Executor{}, visitor(w), ignore_progress);
    EXPECT_TRUE(support::same_bits(values(w.q), counted(60)));
    EXPECT_TRUE(support::same_bits(values(w.k), counted(6, 60)));
    EXPECT_TRUE(support::same_bits(values(w.v), counted(6, 66)));
    EXPECT_TRUE(support::same_bits(values(w.k_bias), counted(2, 120)));
  }
}

TEST(WeightStore, TransposesAndCutsColumns) {
  for (const char* type : {"F32", "F16", "BF16"}) {
    std::string bytes;  // [3, 24] in the file: element (i, o) is 8 o + i, exact in every type
    for (int i = 0; i < 3; ++i)
      for (int o = 0; o < 24; ++o) {
        const auto x = static_cast<float>(8 * o + i);
        bytes += type[0] == 'B'   ? build::raw(bfloat16(x))
                 : type[1] == '1' ? build::raw(half(x))
                                  : build::raw(x);
      }
    File file;
    file.add("h.0.qkv", type, {3, 24}, bytes).count("h.0.bias", {24}, 100);
    for (const std::size_t shift : {0u, 1u}) {
      const auto source = file.open(shift);
      Fused w;
      WeightStore store;
      store.load(source, Fused::names(true), Executor{}, visitor(w), ignore_progress);
      const auto expected = [](int first, int rows) {
        Floats all;
        for (int o = first; o < first + rows; ++o)
          for (int i = 0; i < 3; ++i) all.push_back(static_cast<float>(8 * o + i));
        return all;
      };
      EXPECT_TRUE(support::same_bits(values(w.q), expected(0, 20))) << type;
      EXPECT_TRUE(support::same_bits(values(w.k), expected(20, 2))) << type;
      EXPECT_TRUE(support::same_bits(values(w.v), expected(22, 2))) << type;
    }
  }
}

struct Plain {
  WeightMatrix a, b, c;
  VectorView<const float> gain;
  template <class F>
  void visit(F&& f) {
    f("a", a, {2, 4});
    f("b", b, {2, 4});
    f("c", c, {2, 4});
    f("gain", gain, {4});
  }
  static NameMap names() {
    return {.model = {{"a", "A"}, {"b", "B"}, {"c", "C"}, {"gain", "G"}}, .ignored = {".unused"}};
  }
  bool is_unset() const {
    return a.data() == nullptr && b.data() == nullptr && c.data() == nullptr &&
           gain.data() == nullptr;
  }
};

std::string load_error(const TensorSource& source, Plain& w) {
  WeightStore store;
  return build::error_of(
      [&] { store.load(source, Plain::names(), Executor{}, visitor(w), ignore_progress); });
}

TEST(WeightStore, OneMessageNamesAllThatDoesNotFit) {
  File file;
  file.count("A", {4, 2}).count("G", {4}).count("more", {1}).count("x.unused", {1});
  file.add("C", "I32", {2, 4}, std::string(32, '\0'));
  const auto source = file.open();
  Plain w;
  EXPECT_EQ(load_error(source, w),
            "file: the tensors do not fit the model\n  missing: B\n  not expected: more\n"
            "  wrong: A has shape [4, 2], expected [2, 4], C has type I32, expected F32, F16, BF16 "
            "or a block format that is supported");
  EXPECT_TRUE(w.is_unset());
}

TEST(WeightStore, LongListsOfTensorsAreCut) {
  File file;
  for (int i = 0; i < 3000; ++i) file.count("other." + std::to_string(i), {1});
  const auto source = file.open();
  std::vector<VectorView<const float>> views(21);
  WeightStore store;
  const auto error = [&](std::size_t wanted) {
    return build::error_of([&] {
      store.load(
          source, {.model = {{"w.{}", "w.{}"}}}, Executor{},
          [&](auto&& f) {
            for (std::size_t i = 0; i < wanted; ++i) f("w." + std::to_string(i), views[i], {1});
          },
          ignore_progress);
    });
  };
  EXPECT_TRUE(build::says(error(20), ", w.18, w.19\n  not expected: other.0, other.1, "));
  EXPECT_TRUE(build::says(error(21), ", w.19, .. and 1 more\n  not expected: other.0, other.1, "));
  EXPECT_TRUE(error(21).ends_with(", other.19, .. and 2980 more"));
}

TEST(WeightStore, AFusedTensorIsNamedOnce) {
  Fused w;
  WeightStore store;
  const auto error = [&](const TensorSource& source) {
    return build::error_of(
        [&] { store.load(source, Fused::names(false), Executor{}, visitor(w), ignore_progress); });
  };
  EXPECT_EQ(error(File().count("h.0.bias", {24}).open()),
            "file: the tensors do not fit the model\n  missing: h.0.qkv");
  EXPECT_EQ(error(File().count("h.0.bias", {24}).count("h.0.qkv", {8, 3}).open()),
            "file: the tensors do not fit the model\n  wrong: h.0.qkv has shape [8, 3], expected "
            "[24, 3]");
}

TEST(WeightStore, VectorsMayBeDoubleAndMatricesMayNot) {
  File file;
  std::string doubles;
  for (const double x : {0.1, 1e-3, -2.0, 3.5}) doubles += build::raw(x);
  file.count("A", {2, 4}).count("B", {2, 4}).count("C", {2, 4}).add("G", "F64", {4}, doubles);
  Plain w;
  const auto source = file.open(5);
  WeightStore store;
  store.load(source, Plain::names(), Executor{}, visitor(w), ignore_progress);
  EXPECT_TRUE(support::same_bits(values(w.gain), Floats{0.1f, 1e-3f, -2.f, 3.5f}));

  File other;
  other.count("A", {2, 4}).count("B", {2, 4}).count("G", {4});
  other.add("C", "F64", {2, 4}, std::string(64, '\0'));
  const auto wrong = other.open();
  Plain unset;
  EXPECT_TRUE(build::says(load_error(wrong, unset), "C has type F64, expected F32, F16, BF16"));
  EXPECT_TRUE(unset.is_unset());
}

TEST(WeightStore, ProgressRisesToTheTotalThatTheStoreHolds) {
  File file;
  file.count("A", {2, 4}).count("B", {2, 4}).count("C", {2, 4}).count("G", {4});
  const auto source = file.open();
  Plain w;
  WeightStore store;
  std::vector<index_t> done, total;
  store.load(source, Plain::names(), Executor{}, visitor(w), [&](index_t d, index_t t) {
    done.push_back(d);
    total.push_back(t);
  });
  ASSERT_EQ(done.size(), 4u);
  for (std::size_t i = 1; i < done.size(); ++i) EXPECT_GT(done[i], done[i - 1]);
  EXPECT_EQ(done.back(), total.back());
  EXPECT_EQ(done.back(), store.bytes());
  EXPECT_EQ(std::count(total.begin(), total.end(), total[0]), 4);
}

TEST(WeightStore, NothingIsSetWhenProgressEndsTheCall) {
  File file;
  file.count("A", {2, 4}).count("B", {2, 4}).count("C", {2, 4}).count("G", {4});
  const auto source = file.open();
  Plain w;
  WeightStore store;
  int calls = 0;
  EXPECT_THROW(store.load(source, Plain::names(), Executor{}, visitor(w),
                          [&](index_t, index_t) {
                            if (++calls == 3) throw std::runtime_error("stop");
                          }),
               std::runtime_error);
  EXPECT_TRUE(w.is_unset());
  EXPECT_EQ(store.bytes(), 0);
}

}  // namespace
