// NameMap: which rule is taken, and the stored name that comes of it.
#include <gtest/gtest.h>

#include <ashlar/weights/name_map.hpp>

#include "build_files.hpp"

namespace {

using namespace ashlar;

std::string stored(const NameMap& names, std::string_view weight) {
  return NameTable(names)(weight).stored;
}

TEST(NameMap, ReplacesTheLayerAndRefusesUnknownNames) {
  const NameMap names{.model = {{"embedding", "wte"}}, .layer = {{"mixer.q", "h.{}.attn.q"}}};
  EXPECT_EQ(stored(names, "embedding"), "wte");
  EXPECT_EQ(stored(names, "layers.7.mixer.q"), "h.7.attn.q");
  EXPECT_EQ(stored(names, "layers.123.mixer.q"), "h.123.attn.q");
  for (const char* unknown : {"mixer.q", "layers.7", "layers.7.", "layers.x.mixer.q", "layers.7.q",
                              "a.layers.7.mixer.q", "layers..mixer.q", "", "."})
    EXPECT_TRUE(build::says(build::error_of([&] { stored(names, unknown); }),
                            "no rule for the weight \"" + std::string(unknown) + "\""));
}

TEST(NameMap, SeveralGroupsOfLayersShareOneList) {
  const NameMap names{.model = {{"encoder.layers.{}.q", "enc.{}.q"},
                                {"decoder.layers.{}.q", "dec.block.{}.q"},
                                {"decoder.layers.{}.bias", "dec.block.0.bias"}}};
  EXPECT_EQ(stored(names, "encoder.layers.12.q"), "enc.12.q");
  EXPECT_EQ(stored(names, "decoder.layers.3.q"), "dec.block.3.q");
  EXPECT_EQ(stored(names, "decoder.layers.3.bias"), "dec.block.0.bias");
}

TEST(NameMap, NumbersFillThePlacesInOrderAndPartsKeepTheLast) {
  const NameMap names{.layer = {{"experts.{}.up", "l.{}.e.{}.up"},
                                {"norm", "l.{}.norms.{}.w", {.parts = 4}},
                                {"shared", "norms.{}", {.parts = 2}},
                                {"experts.{}.norm", "l.{}.e.{}.{}", {.parts = 2}}}};
  EXPECT_EQ(stored(names, "layers.10.experts.127.up"), "l.10.e.127.up");
  EXPECT_EQ(stored(names, "layers.1234.norm"), "l.1234.norms.{}.w");
  EXPECT_EQ(stored(names, "layers.5.shared"), "norms.{}");
  EXPECT_EQ(stored(names, "layers.123.experts.4.norm"), "l.123.e.4.{}");
}

TEST(NameMap, ANumberOfItsOwnGoesBeforeAnyNumberAndTheLastRuleCounts) {
  const NameMap names{.model = {{"layers.2.q", "odd.q"}, {"x", "old"}, {"x", "new"}},
                      .layer = {{"q", "h.{}.q"}, {"e.1.up", "h.{}.first"}, {"e.{}.up", "h.{}.{}"}}};
  EXPECT_EQ(stored(names, "layers.2.q"), "odd.q");
  EXPECT_EQ(stored(names, "layers.22.q"), "h.22.q");
  EXPECT_EQ(stored(names, "layers.3.e.1.up"), "h.3.first");
  EXPECT_EQ(stored(names, "layers.3.e.2.up"), "h.3.2");
  EXPECT_EQ(stored(names, "x"), "new");
}

TEST(NameMap, DerivesFromAnother) {
  const NameMap base{.model = {{"norm", "model.norm"}, {"head", "lm_head"}},
                     .layer = {{"q", "model.h.{}.q"}, {"k", "model.h.{}.k"}},
                     .ignored = {".freq"}};
  NameMap bare = base;
  bare.replace_prefix("model.", "");
  bare += {.layer = {{"q", "h.{}.qkv", {.block = 2, .period = 6}}}, .ignored = {".mask"}};
  EXPECT_EQ(stored(bare, "norm"), "norm");
  EXPECT_EQ(stored(bare, "head"), "lm_head");
  EXPECT_EQ(stored(bare, "layers.4.k"), "h.4.k");
  EXPECT_EQ(stored(bare, "layers.4.q"), "h.4.qkv");
  EXPECT_EQ(NameTable(bare)("layers.4.q").as.period, 6);
  EXPECT_TRUE(bare.ignores("a.freq") && bare.ignores("b.mask") && !bare.ignores("c"));

  NameMap both = base.nested("encoder.", "enc.");
  both += base.nested("decoder.");
  EXPECT_EQ(stored(both, "encoder.norm"), "enc.model.norm");
  EXPECT_EQ(stored(both, "encoder.layers.3.q"), "enc.model.h.3.q");
  EXPECT_EQ(stored(both, "decoder.layers.3.k"), "model.h.3.k");
  EXPECT_TRUE(both.ignores("a.freq"));
}

}  // namespace
