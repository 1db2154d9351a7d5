#include <ashlar/models/presets/clip.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<ImageTextModel> clip_families = make_image_text_models(Families<ClipFamily>{});

}  // namespace ashlar::examples
