#include <ashlar/models/presets/dinov2.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<VisionModel> dinov2_families = make_vision_models(
    Families<Dinov2Family, Dinov2GiantFamily, Dinov2RegistersFamily, Dinov2RegistersGiantFamily>{});

}  // namespace ashlar::examples
