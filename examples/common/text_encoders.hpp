// The text encoders that the programs know, on each backend.
#pragma once

#include <ashlar/models/text_encoder.hpp>
#include <memory>
#include <string_view>

#include "progress_line.hpp"

namespace ashlar::examples {

/// Whether a checkpoint is BERT or of its kin.
bool is_text_encoder(const Checkpoint& checkpoint);
/// Throws ValueError for another family and for a backend that there is not, and what loading
/// throws.
std::unique_ptr<TextEncoder> load_any_text_encoder(const Checkpoint& checkpoint,
                                                   std::string_view backend, Executor executor,
                                                   ProgressLine& progress);

}  // namespace ashlar::examples
