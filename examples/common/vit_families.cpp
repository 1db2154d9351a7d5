#include <ashlar/models/presets/vit.hpp>
#include <ashlar/models/presets/vit_22b.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<VisionModel> vit_families =
    make_vision_models(Families<VitFamily, Vit22bFamily>{});

}  // namespace ashlar::examples
