// The families that the programs know, on each backend: one file a backend, compiled side by side.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <memory>

#include "progress_line.hpp"

namespace ashlar::examples {

using LoadModel = std::unique_ptr<LanguageModel>(const Checkpoint&, Executor, ProgressLine&);
LoadModel load_on_scalar, load_on_simd, load_on_eigen;

}  // namespace ashlar::examples
