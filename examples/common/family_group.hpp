// Makes a FamilyGroup of a list of families: instantiates their models on every backend.
#pragma once

#include <ashlar/eigen.hpp>
#include <ashlar/simd.hpp>

#include "families.hpp"

namespace ashlar::examples {

template <class... Members>
constexpr FamilyGroup make_group(Families<Members...>) {
  using List = Families<Members...>;
  return {[](std::string_view family) { return List::contains(family); },
          [] { return List::names(); },
          [](const Checkpoint& checkpoint, std::string_view backend, Executor executor,
             ProgressLine& progress) -> std::unique_ptr<LanguageModel> {
            if (!List::accepts(checkpoint)) return nullptr;
            if (backend == "scalar")
              return load_language_model<backend::ScalarCpu, List>(checkpoint, executor, progress);
            if (backend == "simd")
              return load_language_model<backend::SimdCpu, List>(checkpoint, executor, progress);
            if (backend == "eigen")
              return load_language_model<backend::EigenCpu, List>(checkpoint, executor, progress);
            fail<ValueError>("backend is \"", backend, "\", expected scalar, simd, eigen or cuda");
          },
          [](std::vector<FamilyKind>& kinds) {
            List::for_each([&]<class Family>() {
              kinds.push_back({std::string(Family::name), describe<typename Family::Spec>(),
                               [](const Checkpoint& c) { return is_family<Family>(c); }});
            });
          }};
}

}  // namespace ashlar::examples
