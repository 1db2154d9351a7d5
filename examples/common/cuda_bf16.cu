#include "cuda_families.cuh"

namespace ashlar::examples {

std::unique_ptr<LanguageModel> load_cuda_bf16(const Checkpoint& checkpoint, Executor executor,
                                              ProgressLine& progress) {
  return load_cuda_families<bfloat16>(checkpoint, executor, progress);
}

}  // namespace ashlar::examples
