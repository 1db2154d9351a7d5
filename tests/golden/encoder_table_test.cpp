// The encoders' table of docs/families.md: the choices of their specs, and the errors measured
// here.
#include <gtest/gtest.h>

#include <ashlar/models/describe.hpp>
#include <ashlar/models/presets/bart.hpp>
#include <ashlar/models/presets/bert.hpp>
#include <ashlar/models/presets/cait.hpp>
#include <ashlar/models/presets/clip.hpp>
#include <ashlar/models/presets/dinov2.hpp>
#include <ashlar/models/presets/modernbert.hpp>
#include <ashlar/models/presets/t5.hpp>
#include <ashlar/models/presets/transformer_2017.hpp>
#include <ashlar/models/presets/vit.hpp>
#include <ashlar/models/presets/vit_22b.hpp>
#include <ashlar/models/presets/whisper.hpp>
#include <fstream>
#include <iterator>
#include <regex>

#include "encoder_case.hpp"
#include "encoder_runs.hpp"

namespace golden {
namespace {

using namespace ashlar;

template <class Spec>
std::string row(const std::string& family) {
  const SpecDescription c = describe<Spec>();
  const auto with = [](const std::string& a, const std::string& b) {
    return a.empty() || b.empty() ? a + b : a + ", " + b;
  };
  std::string line = "| " + family + " |";
  for (const std::string& text :
       {c.wiring, c.norm, c.position,
        with(c.mixer == "Attention" ? "" : c.mixer, with(with(c.mask, c.score), c.qk_norm)), c.ffn,
        with(c.residual == "PlainResidual" ? "" : c.residual, c.further)})
    line += " " + (text.find('<') == text.npos ? text : "`" + text + "`") + " |";
  return line;
}

/// A golden case on the reference backend: its name and largest error.
std::string measured(const std::string& name, void (*run)(const ModelCase&)) {
  EncoderCase::largest_error = 0;
  run(ModelCase(std::string(ASHLAR_TEST_DATA) + "/encoder/" + name));
  char text[16];
  std::snprintf(text, sizeof(text), "%.1e", EncoderCase::largest_error);
  return name + " " + text;
}

std::string table() {
  using R = EncoderRuns<backend::ScalarCpu>;
  std::string t =
      "| family | wiring | norm | position | mask, score, QK-norm | feed-forward | residual, "
      "further | largest error |\n|---|---|---|---|---|---|---|---|\n";
  const auto add = [&](const std::string& line, const std::string& error = "") {
    t += line + (error.empty() ? "" : " " + error) + " |\n";
  };
  add(row<Transformer2017EncoderSpec<PostNorm>>("transformer 2017, post-norm: encoder"),
      measured("transformer_2017_post_norm", R::transformer_2017));
  add(row<Transformer2017DecoderSpec<PostNorm>>("its decoder, with cross-attention"));
  add(row<Transformer2017EncoderSpec<PreNorm>>("transformer 2017, pre-norm: encoder"),
      measured("transformer_2017_pre_norm", R::transformer_2017));
  add(row<BertSpec>("bert, roberta"),
      measured("bert", R::bert) + ", " + measured("roberta", R::roberta));
  add(row<ModernBertSpec>("modernbert"), measured("modernbert", R::modernbert));
  add(row<T5EncoderSpec<Mlp<act::Chosen>>>("t5 1.0: encoder"), measured("t5_v1_0", R::t5));
  add(row<T5EncoderSpec<Glu<act::Chosen>>>("t5 1.1: encoder"), measured("t5_v1_1", R::t5));
  add(row<T5DecoderSpec<Glu<act::Chosen>>>("its decoder, with cross-attention"));
  add(row<BartEncoderSpec>("bart: encoder"), measured("bart", R::bart));
  add(row<BartDecoderSpec>("its decoder, with cross-attention"));
  add(row<WhisperEncoderSpec>("whisper: encoder"), measured("whisper", R::whisper));
  add(row<WhisperDecoderSpec>("its decoder, with cross-attention"));
  add(row<VitSpec>("vit"), measured("vit", R::vit));
  add(row<Vit22bSpec>("vit-22b"), measured("vit_22b_like", R::vit_22b));
  add(row<Dinov2Spec<Mlp<act::Chosen>>>("dinov2, with registers or without"),
      measured("dinov2", R::dinov2) + ", " + measured("dinov2_registers", R::dinov2));
  add(row<Dinov2Spec<SwiGlu>>("dinov2 giant with registers"),
      measured("dinov2_registers_giant", R::dinov2));
  add(row<CaitSpec>("cait, with class-attention"), measured("cait", R::cait));
  add(row<ClipTextSpec>("clip: text"), measured("clip", R::clip));
  add(row<ClipVisionSpec>("clip: image"));
  return t;
}

TEST(Documents, TableOfEncoders) {
  const std::string path = std::string(ASHLAR_TEST_DATA) + "/../../docs/families.md";
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "<!-- encoders -->\n", end = "<!-- end of encoders -->";
  const std::size_t first = text.find(begin), last = text.find(end);
  ASSERT_TRUE(first != text.npos && last != text.npos) << path;
  const std::string shown = text.substr(first + begin.size(), last - first - begin.size());
  const std::string now = table();
  // Another processor may round otherwise: the figures within a factor of two, the rest as it is.
  const std::regex figure("[0-9]\\.[0-9]e[+-][0-9]+");
  EXPECT_EQ(std::regex_replace(shown, figure, "#"), std::regex_replace(now, figure, "#")) << now;
  std::sregex_iterator old_figures(shown.begin(), shown.end(), figure),
      new_figures(now.begin(), now.end(), figure);
  for (; old_figures != std::sregex_iterator() && new_figures != std::sregex_iterator();
       ++old_figures, ++new_figures) {
    const double a = std::stod(old_figures->str()), b = std::stod(new_figures->str());
    EXPECT_TRUE(b <= 2 * a && a <= 2 * b) << a << " in the document, measured " << b;
  }
}

}  // namespace
}  // namespace golden
