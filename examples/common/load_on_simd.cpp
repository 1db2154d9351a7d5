#include <ashlar/models/presets/gpt2.hpp>
#include <ashlar/models/presets/llama.hpp>
#include <ashlar/simd.hpp>

#include "load_on.hpp"

namespace ashlar::examples {

std::unique_ptr<LanguageModel> load_on_simd(const Checkpoint& checkpoint, Executor executor,
                                            ProgressLine& progress) {
  return load_language_model<backend::SimdCpu, LlamaFamily, Gpt2Family>(checkpoint, executor,
                                                                        progress);
}

}  // namespace ashlar::examples
