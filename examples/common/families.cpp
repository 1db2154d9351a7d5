#include "families.hpp"

namespace ashlar::examples {
namespace {

#if defined(ASHLAR_EXAMPLES_LLAMA_ONLY)
const FamilyGroup* const groups[] = {&llama_families};
#else
const FamilyGroup* const groups[] = {&llama_families,  &gpt_families,      &falcon_families,
                                     &gemma_families,  &gemma4_families,   &olmo_families,
                                     &cohere_families, &chameleon_families};
#endif

}  // namespace

bool is_known_family(std::string_view name) {
  for (const FamilyGroup* group : groups)
    if (group->contains(name)) return true;
  return false;
}

std::vector<FamilyKind> known_families() {
  std::vector<FamilyKind> kinds;
  for (const FamilyGroup* group : groups) group->describe(kinds);
  return kinds;
}

std::unique_ptr<LanguageModel> load_any_family(const Checkpoint& checkpoint,
                                               std::string_view backend, Executor executor,
                                               ProgressLine& progress) {
  std::string names;
  for (const FamilyGroup* group : groups) {
    if (auto model = group->load(checkpoint, backend, executor, progress)) return model;
    names += (names.empty() ? "" : ", ") + group->names();
  }
  fail<ValueError>(checkpoint.path(), ": model family is ",
                   ashlar::detail::quote(checkpoint.family()), ", supported: ", names);
}

}  // namespace ashlar::examples
