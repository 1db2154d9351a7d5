// Finds the golden encoders, encoder-decoders and vision models, and makes each of them a test.
#include "encoder_case.hpp"
#include "encoder_runs.hpp"
#include "registry.hpp"

namespace golden {
namespace {

template <class B>
std::map<std::string, void (*)(const ModelCase&)> families() {
  using R = EncoderRuns<B>;
  return {{"bert", R::bert}, {"roberta", R::roberta}, {"modernbert", R::modernbert}};
}

template <class B>
bool register_encoders(const std::string& backend) {
  const auto table = families<B>();
  for_each_root([&](const std::string& label, const std::string& root) {
    namespace fs = std::filesystem;
    if (!fs::is_directory(root)) return;
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root))
      if (entry.path().filename() == "expected.safetensors" &&
          is_encoder_case(entry.path().string()))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      const std::string folder = file.parent_path().string();
      const std::string below = fs::relative(folder, root).generic_string();
      add_test(label + (below == "." ? "" : "/" + below), backend, [=] {
        const ModelCase c(folder);
        const auto run = table.find(c.family());
        if (run == table.end())
          throw Unsupported{"family " + c.family() + " is not implemented yet"};
        run->second(c);
      });
    }
  });
  return true;
}

[[maybe_unused]] const bool registered = register_encoders<ashlar::backend::ScalarCpu>("scalar") &&
                                         register_encoders<ashlar::backend::SimdCpu>("simd");

}  // namespace
}  // namespace golden
