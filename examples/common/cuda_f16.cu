#include "cuda_families.cuh"

namespace ashlar::examples {

std::unique_ptr<LanguageModel> load_cuda_f16(const Checkpoint& checkpoint, Executor executor,
                                             ProgressLine& progress) {
  return load_cuda_families<half>(checkpoint, executor, progress);
}

}  // namespace ashlar::examples
