// The families that the programs know, on each backend: groups that are compiled side by side.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "progress_line.hpp"

namespace ashlar::examples {

/// Families of one translation unit.
struct FamilyGroup {
  bool (*contains)(std::string_view family);
  std::string (*names)();
  /// Null for a checkpoint of another group. Throws ValueError for a backend that there is not.
  std::unique_ptr<LanguageModel> (*load)(const Checkpoint& checkpoint, std::string_view backend,
                                         Executor executor, ProgressLine& progress);
};
extern const FamilyGroup llama_families, gpt_families, gemma_families;

/// Whether there is a family of this name.
bool is_known_family(std::string_view name);
/// Loads a checkpoint of any family. Throws ValueError for an unknown one, and what loading throws.
std::unique_ptr<LanguageModel> load_any_family(const Checkpoint& checkpoint,
                                               std::string_view backend, Executor executor,
                                               ProgressLine& progress);

}  // namespace ashlar::examples
