#include <ashlar/models/presets/cait.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<VisionModel> cait_families = make_vision_models(Families<CaitFamily>{});

}  // namespace ashlar::examples
