// families: the decoder families that the programs load, the choices each is made of, and how far
// their logits are from golden values.
#include <algorithm>
#include <ashlar/weights/safetensors.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "common/families.hpp"
#include "common/program.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::examples;

/// Largest distance of the logits of a golden folder (tests/golden/README.md) on a backend.
double logits_error(const std::string& folder, std::string_view backend) {
  const Checkpoint checkpoint(folder);
  ProgressLine progress("", true);
  const auto lm = load_any_family(checkpoint, backend, {}, progress);
  const SafetensorsFile expected(folder + "/expected.safetensors");
  const TensorInfo &ids = expected.at("input_ids"), &logits = expected.at("logits");
  const index_t B = ids.shape.at(0), T = ids.shape.at(1), V = lm->info().vocabulary;

  std::vector<std::int32_t> tokens;
  for (index_t i = 0; i < B * T; ++i)
    tokens.push_back(
        static_cast<std::int32_t>(ashlar::load<std::int64_t>(ids.bytes.data() + i * 8)));
  std::vector<float> want(static_cast<std::size_t>(B * T * V)), got(want.size()),
      hidden(static_cast<std::size_t>(B * T * lm->info().d_model));
  read_f32(logits, want);
  const MatrixView<float> rows(hidden.data(), {B * T, lm->info().d_model});
  lm->start(B, T);
  lm->forward({tokens.data(), {B, T}}, rows);
  lm->head(MatrixView<const float>(rows), {got.data(), {B * T, V}});
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    if (std::fabs(want[i]) < 1e30f)  // the lowest float: never predicted
      most = std::max(most, std::fabs(double{got[i]} - double{want[i]}));
  return most;
}

std::vector<std::string> golden_folders(const std::string& root) {
  std::vector<std::string> folders;
  if (root.empty()) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (std::filesystem::exists(entry.path() / "expected.safetensors"))
      folders.push_back(entry.path().string());
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// A cell of a table, in which <..> must not become a tag.
std::string cell(const std::string& text) {
  return text.find('<') == text.npos ? text : "`" + text + "`";
}

std::string both(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + ", " + b;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The decoder families that the programs load, as a Markdown table");
  std::string golden;
  app.add_option("--golden", golden,
                 "folder of golden cases: adds the largest error of their logits");
  return run_program(app, argc, argv, [&] {
    const auto folders = golden_folders(golden);
    std::printf(
        "| family | wiring | norm | QK-norm | position | mask, score | feed-forward | "
        "residual, further |%s\n|---|---|---|---|---|---|---|---|%s\n",
        golden.empty() ? "" : " largest error of the logits |", golden.empty() ? "" : "---|");
    for (const FamilyKind& kind : known_families()) {
      const SpecDescription& c = kind.choices;
      std::printf("| %s |", kind.name.c_str());
      for (const std::string& text :
           {c.wiring, c.norm, c.qk_norm, c.position, both(c.mask, c.score), c.ffn,
            both(c.residual == "PlainResidual" ? "" : c.residual, c.further)})
        std::printf(" %s |", cell(text).c_str());
      std::string errors;
      for (const std::string& folder : folders) {
        if (!kind.accepts(Checkpoint(folder))) continue;
        const double scalar = logits_error(folder, "scalar"), simd = logits_error(folder, "simd");
        char text[96];
        std::snprintf(text, sizeof(text), scalar == simd ? " %.1e" : " %.1e (simd %.1e)", scalar,
                      simd);
        errors += (errors.empty() ? "" : ",") + std::string(" ") +
                  std::filesystem::path(folder).filename().string() + text;
      }
      if (!golden.empty()) std::printf("%s |", errors.c_str());
      std::printf("\n");
    }
  });
}
