#include "cuda_families.cuh"

namespace ashlar::examples {

std::unique_ptr<LanguageModel> load_cuda_f32(const Checkpoint& checkpoint, Executor executor,
                                             ProgressLine& progress) {
  return load_cuda_families<float>(checkpoint, executor, progress);
}

}  // namespace ashlar::examples
