// The families that the programs know, on each backend: groups that are compiled side by side.
#pragma once

#include <ashlar/models/describe.hpp>
#include <ashlar/models/language_model.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "progress_line.hpp"

namespace ashlar::examples {

/// One kind of a family: its spec, and whether a checkpoint is of it.
struct FamilyKind {
  std::string name;
  SpecDescription choices;
  bool (*accepts)(const Checkpoint&);
};

/// Families of one translation unit.
struct FamilyGroup {
  bool (*contains)(std::string_view family);
  std::string (*names)();
  /// Null for a checkpoint of another group. Throws ValueError for a backend that there is not.
  std::unique_ptr<LanguageModel> (*load)(const Checkpoint& checkpoint, std::string_view backend,
                                         Executor executor, ProgressLine& progress);
  void (*describe)(std::vector<FamilyKind>& kinds);
};
extern const FamilyGroup llama_families, gpt_families, falcon_families, gemma_families,
    gemma4_families, olmo_families, cohere_families, chameleon_families;

/// Whether there is a family of this name.
bool is_known_family(std::string_view name);
/// Every kind of every family.
std::vector<FamilyKind> known_families();
/// Loads a checkpoint of any family. Throws ValueError for an unknown one, and what loading throws.
std::unique_ptr<LanguageModel> load_any_family(const Checkpoint& checkpoint,
                                               std::string_view backend, Executor executor,
                                               ProgressLine& progress);

}  // namespace ashlar::examples
