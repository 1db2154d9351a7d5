// Language models on a device, in programs that were built with ASHLAR_BUILD_CUDA.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <memory>
#include <string_view>

#include "progress_line.hpp"

namespace ashlar::examples {

/// Whether a backend's name asks for a device: cuda (f32 activations), cuda-f16, cuda-bf16.
inline bool is_cuda(std::string_view backend) { return backend.substr(0, 4) == "cuda"; }

/// Throws ValueError for another name, a family that is not compiled for devices, and in a program
/// that was built without CUDA; what loading throws.
std::unique_ptr<LanguageModel> load_cuda_model(const Checkpoint& checkpoint,
                                               std::string_view backend, Executor executor,
                                               ProgressLine& progress);

/// With activations of one type; each in a .cu file of its own.
std::unique_ptr<LanguageModel> load_cuda_f32(const Checkpoint&, Executor, ProgressLine&);
std::unique_ptr<LanguageModel> load_cuda_f16(const Checkpoint&, Executor, ProgressLine&);
std::unique_ptr<LanguageModel> load_cuda_bf16(const Checkpoint&, Executor, ProgressLine&);

}  // namespace ashlar::examples
