#include "any_model.hpp"

#include "cuda_models.hpp"
#include "families.hpp"

namespace ashlar::examples {
namespace {

/// Calls f(group) for every group but those of language models.
template <class F>
void for_each_group(F&& f) {
  f(text_encoders);
  for (const auto* group :
       {&t5_families, &bart_families, &whisper_families, &transformer_2017_families})
    f(*group);
  for (const auto* group : {&vit_families, &dinov2_families, &cait_families}) f(*group);
  f(clip_families);
}

std::string all_names() {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  std::string last;
  for (const FamilyKind& kind : known_families())
    if (kind.name != last) add(last = kind.name);
  for_each_group([&](const auto& group) { add(group.names()); });
  return names;
}

}  // namespace

AnyModel open_any_model(const Checkpoint& checkpoint, const ModelOptions& options) {
  AnyModel any;
  any.pool = std::make_unique<ThreadPool>(thread_count(options.threads));
  ProgressLine progress("Loading " + checkpoint.path(), options.quiet);
  const Executor executor = any.pool->executor();
  bool found = false;
  for_each_group([&](const auto& group) {
    if (found || !group.accepts(checkpoint)) return;
    found = true;
    any.model = group.load(checkpoint, options.backend, executor, progress);
  });
  if (found) return any;
  if (!is_known_family(checkpoint.family()))
    fail<ValueError>(checkpoint.path(), ": model family is ",
                     ashlar::detail::quote(checkpoint.family()), ", supported: ", all_names());
  any.model = is_cuda(options.backend)
                  ? load_cuda_model(checkpoint, options.backend, executor, progress)
                  : load_any_family(checkpoint, options.backend, executor, progress);
  return any;
}

}  // namespace ashlar::examples
