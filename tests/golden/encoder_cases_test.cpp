// Finds the golden encoders, encoder-decoders and vision models, and makes each of them a test.
#include "encoder_case.hpp"
#include "encoder_runs.hpp"
#include "registry.hpp"

namespace golden {
namespace {

template <class B>
std::map<std::string, void (*)(const ModelCase&)> families() {
  using R = EncoderRuns<B>;
  return {{"bert", R::bert},
          {"roberta", R::roberta},
          {"xlm-roberta", R::roberta},
          {"modernbert", R::modernbert},
          {"transformer-2017", R::transformer_2017},
          {"t5", R::t5},
          {"bart", R::bart},
          {"whisper", R::whisper},
          {"vit", R::vit},
          {"dinov2", R::dinov2},
          {"dinov2_with_registers", R::dinov2},
          {"vit-22b-like", R::vit_22b},
          {"cait", R::cait},
          {"clip", R::clip}};
}

bool has_sentences(const std::string& file) {
  try {
    return ashlar::SafetensorsFile(file).find("embeddings") != nullptr;
  } catch (const ashlar::Error&) {
    return false;
  }
}

template <class B>
bool register_encoders(const std::string& backend) {
  const auto table = families<B>();
  for_each_root([&](const std::string& label, const std::string& root) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    if (!fs::is_directory(root))
      files.push_back(root);
    else
      for (const auto& entry : fs::recursive_directory_iterator(root))
        if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      const bool model = file.filename() == "expected.safetensors";
      const std::string below =
          fs::relative(model ? file.parent_path() : fs::path(file).replace_extension(), root)
              .generic_string();
      const std::string name = label + (below == "." ? "" : "/" + below);
      if (model && is_encoder_case(file.string()))
        add_test(name, backend, [=, folder = file.parent_path().string()] {
          const ModelCase c(folder);
          const auto run = table.find(c.family());
          if (run == table.end())
            throw Unsupported{"family " + c.family() + " is not implemented yet"};
          run->second(c);
        });
      else if (!model && has_sentences(file.string()))
        add_test(name, backend, [=, path = file.string()] {
          EncoderRuns<B>::sentences(RealCase(std::make_shared<const ashlar::SafetensorsFile>(path),
                                             file.stem().string()));
        });
    }
  });
  return true;
}

[[maybe_unused]] const bool registered = register_encoders<ashlar::backend::ScalarCpu>("scalar") &&
                                         register_encoders<ashlar::backend::SimdCpu>("simd");

}  // namespace
}  // namespace golden
