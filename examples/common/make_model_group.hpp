// Makes a ModelGroup of a list of families: instantiates their models on every backend.
#pragma once

#include <ashlar/eigen.hpp>
#include <ashlar/simd.hpp>

#include "encoders.hpp"

namespace ashlar::examples {

/// Load is a function without captures, called as operator()<Backend>(checkpoint, executor,
/// progress).
template <class Interface, class... Members, class Load>
constexpr ModelGroup<Interface> make_model_group(Families<Members...>, Load) {
  using List = Families<Members...>;
  return {[](const Checkpoint& checkpoint) { return List::accepts(checkpoint); },
          [] { return List::names(); },
          [](const Checkpoint& checkpoint, std::string_view backend, Executor executor,
             ProgressLine& progress) -> std::unique_ptr<Interface> {
            if (backend == "scalar")
              return Load{}.template operator()<backend::ScalarCpu>(checkpoint, executor, progress);
            if (backend == "simd")
              return Load{}.template operator()<backend::SimdCpu>(checkpoint, executor, progress);
            if (backend == "eigen")
              return Load{}.template operator()<backend::EigenCpu>(checkpoint, executor, progress);
            fail<ValueError>("backend is \"", backend, "\", expected scalar, simd or eigen");
          }};
}

template <class... Members>
constexpr auto make_text_encoders(Families<Members...> list) {
  return make_model_group<TextEncoder>(list, []<class B>(const Checkpoint& c, auto&&... a) {
    return load_text_encoder<B, Members...>(c, a...);
  });
}
template <class... Members>
constexpr auto make_sequence_models(Families<Members...> list) {
  return make_model_group<SequenceModel>(list, []<class B>(const Checkpoint& c, auto&&... a) {
    return load_sequence_model<B, Members...>(c, a...);
  });
}
template <class... Members>
constexpr auto make_vision_models(Families<Members...> list) {
  return make_model_group<VisionModel>(list, []<class B>(const Checkpoint& c, auto&&... a) {
    return load_vision_model<B, Members...>(c, a...);
  });
}
template <class... Members>
constexpr auto make_image_text_models(Families<Members...> list) {
  return make_model_group<ImageTextModel>(list, []<class B>(const Checkpoint& c, auto&&... a) {
    return load_image_text_model<B, Members...>(c, a...);
  });
}

}  // namespace ashlar::examples
