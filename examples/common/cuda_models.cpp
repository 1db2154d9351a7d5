#include "cuda_models.hpp"

namespace ashlar::examples {

std::unique_ptr<LanguageModel> load_cuda_model([[maybe_unused]] const Checkpoint& checkpoint,
                                               std::string_view backend,
                                               [[maybe_unused]] Executor executor,
                                               [[maybe_unused]] ProgressLine& progress) {
  if (backend != "cuda" && backend != "cuda-f16" && backend != "cuda-bf16")
    fail<ValueError>("backend is \"", backend, "\", expected cuda, cuda-f16 or cuda-bf16");
#if defined(ASHLAR_EXAMPLES_CUDA)
  if (backend == "cuda-f16") return load_cuda_f16(checkpoint, executor, progress);
  if (backend == "cuda-bf16") return load_cuda_bf16(checkpoint, executor, progress);
  return load_cuda_f32(checkpoint, executor, progress);
#else
  fail<ValueError>("backend is \"", backend,
                   "\", but this program was built without CUDA: configure it with "
                   "-DASHLAR_BUILD_CUDA=ON, as ./run does for --backend cuda");
#endif
}

}  // namespace ashlar::examples
