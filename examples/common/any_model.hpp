// Opens a model of any kind on a backend that is named at run time.
#pragma once

#include <variant>

#include "encoders.hpp"
#include "open_model.hpp"

namespace ashlar::examples {

/// A model and the threads that it runs on.
struct AnyModel {
  std::unique_ptr<ThreadPool> pool;
  std::variant<std::unique_ptr<LanguageModel>, std::unique_ptr<TextEncoder>,
               std::unique_ptr<SequenceModel>, std::unique_ptr<VisionModel>,
               std::unique_ptr<ImageTextModel>>
      model;  // after the pool: it goes first
};

/// The checkpoint's configuration says which kind it is. Otherwise as open_model.
AnyModel open_any_model(const Checkpoint& checkpoint, const ModelOptions& options = {});

}  // namespace ashlar::examples
