// The families that programs know on a device.
#pragma once

#include <ashlar/models/cuda/language_model.cuh>
#include <ashlar/models/presets/llama.hpp>
#include <ashlar/models/presets/qwen2.hpp>
#include <ashlar/models/presets/qwen3.hpp>
#include <ashlar/models/presets/smollm3.hpp>

#include "cuda_models.hpp"

namespace ashlar::examples {

template <class T>
std::unique_ptr<LanguageModel> load_cuda_families(const Checkpoint& checkpoint, Executor executor,
                                                  ProgressLine& progress) {
  using All = Families<LlamaFamily, Qwen2Family, Qwen3Family, SmolLm3Family>;
  return cuda::load_device_model<T, All>(checkpoint, executor, progress);
}

}  // namespace ashlar::examples
