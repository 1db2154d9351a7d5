#include <ashlar/backend/scalar.hpp>
#include <ashlar/models/presets/gpt2.hpp>
#include <ashlar/models/presets/llama.hpp>

#include "load_on.hpp"

namespace ashlar::examples {

std::unique_ptr<LanguageModel> load_on_scalar(const Checkpoint& checkpoint, Executor executor,
                                              ProgressLine& progress) {
  return load_language_model<backend::ScalarCpu, LlamaFamily, Gpt2Family>(checkpoint, executor,
                                                                          progress);
}

}  // namespace ashlar::examples
