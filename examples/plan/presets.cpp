#include "presets.hpp"

#include <ashlar/models/presets/gpt2.hpp>
#include <ashlar/models/presets/llama.hpp>
#include <filesystem>
#include <fstream>

namespace ashlar::examples {
namespace {

// vocabulary, width, layers, heads, key heads, head, hidden, gated, tied
const Preset published[] = {
    {"gpt2", true, 1024, {50257, 768, 12, 12, 12, 64, 3072, false, true}},
    {"gpt2-medium", true, 1024, {50257, 1024, 24, 16, 16, 64, 4096, false, true}},
    {"gpt2-large", true, 1024, {50257, 1280, 36, 20, 20, 64, 5120, false, true}},
    {"gpt2-xl", true, 1024, {50257, 1600, 48, 25, 25, 64, 6400, false, true}},
    {"smollm2-135m", false, 8192, {49152, 576, 30, 9, 3, 64, 1536, true, true}},
    {"smollm2-360m", false, 8192, {49152, 960, 32, 15, 5, 64, 2560, true, true}},
    {"smollm2-1.7b", false, 8192, {49152, 2048, 24, 32, 32, 64, 8192, true, true}},
    {"tinyllama-1.1b", false, 2048, {32000, 2048, 22, 32, 4, 64, 5632, true, false}},
    {"llama-2-7b", false, 4096, {32000, 4096, 32, 32, 32, 128, 11008, true, false}},
    {"llama-2-13b", false, 4096, {32000, 5120, 40, 40, 40, 128, 13824, true, false}},
    {"llama-2-70b", false, 4096, {32000, 8192, 80, 64, 8, 128, 28672, true, false}},
    {"llama-3-8b", false, 8192, {128256, 4096, 32, 32, 8, 128, 14336, true, false}},
    {"llama-3-70b", false, 8192, {128256, 8192, 80, 64, 8, 128, 28672, true, false}},
    {"llama-3.1-405b", false, 131072, {128256, 16384, 126, 128, 8, 128, 53248, true, false}},
    {"llama-3.2-1b", false, 131072, {128256, 2048, 16, 32, 8, 64, 8192, true, true}},
};

template <class Spec>
typename CausalLm<Spec>::Config config_of(const plan::Shape& s, index_t context) {
  constexpr bool gpt2 = std::is_same_v<Spec, Gpt2Spec>;
  typename DecoderBlock<Spec>::Config layer;
  layer.dims = {s.d_model, s.n_heads, s.n_kv_heads, s.head_dim, 0, s.d_ff};
  typename CausalLm<Spec>::Config c;
  if constexpr (gpt2) {
    layer.mixer.bias = {true, true, true, true};
    c.position.positions = context;
  } else {
    layer.mixer.position.rule.width = s.head_dim;
  }
  c.vocabulary = s.vocabulary;
  c.d_model = s.d_model;
  c.context_length = context;
  c.tied_head = s.tied_head;
  c.layers.assign(static_cast<std::size_t>(s.layers), layer);
  return c;
}

Costs costs_of_shape(const std::string& name, const plan::Shape& s, index_t context,
                     const CostOptions& options) {
  if (!s.gated) return costs<CausalLm<Gpt2Spec>>(name, config_of<Gpt2Spec>(s, context), options);
  return costs<CausalLm<LlamaSpec>>(name, config_of<LlamaSpec>(s, context), options);
}

/// The costs by the family that a checkpoint names, among those of the list.
template <class... Families>
Costs costs_of_checkpoint(const Checkpoint& checkpoint, const std::string& name,
                          const CostOptions& options) {
  std::optional<Costs> found;
  const auto attempt = [&]<class Family>() {
    if (!found && checkpoint.family() == Family::name)
      found = costs<typename Family::Lm>(name, Family::config(checkpoint), options);
  };
  (attempt.template operator()<Families>(), ...);
  if (found) return *found;
  std::string known;
  ((known += (known.empty() ? "" : ", ") + std::string(Families::name)), ...);
  fail<ValueError>(name, ": model family is ", ashlar::detail::quote(checkpoint.family()),
                   ", supported: ", known);
}

/// A folder whose weights are not there: its configuration beside a file of no tensors.
class WithoutWeights {
 public:
  explicit WithoutWeights(const std::filesystem::path& folder)
      : path_(std::filesystem::temp_directory_path() /
              join("ashlar_plan_", reinterpret_cast<std::uintptr_t>(this))) {
    std::filesystem::create_directories(path_);
    std::filesystem::copy_file(folder / "config.json", path_ / "config.json",
                               std::filesystem::copy_options::overwrite_existing);
    std::ofstream(path_ / "model.safetensors", std::ios::binary).write("\x02\0\0\0\0\0\0\0{}", 10);
  }
  ~WithoutWeights() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WithoutWeights(const WithoutWeights&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::span<const Preset> presets() { return published; }

Costs costs_of(const std::string& name, const CostOptions& options) {
  for (const Preset& p : published)
    if (p.name == name) return costs_of_shape(name, p.shape, p.context, options);
  const std::filesystem::path path(name);
  if (!std::filesystem::exists(path))
    fail<ValueError>("\"", name, "\" is no preset (--list prints them) and no file or folder");
  const std::string label = (path.has_filename() ? path : path.parent_path()).filename().string();
  const auto of = [&](const std::string& from) {
    return costs_of_checkpoint<LlamaFamily, Gpt2Family>(Checkpoint(from), label, options);
  };
  const bool bare = std::filesystem::exists(path / "config.json") &&
                    !std::filesystem::exists(path / "model.safetensors") &&
                    !std::filesystem::exists(path / "model.safetensors.index.json");
  return bare ? of(WithoutWeights(path).path()) : of(name);
}

Costs costs_of(const std::string& name, const plan::Shape& shape, const CostOptions& options) {
  return costs_of_shape(name, shape, options.context ? options.context : 4096, options);
}

}  // namespace ashlar::examples
