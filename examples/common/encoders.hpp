// The families that are no causal language models, on each backend: groups that are compiled side
// by side.
#pragma once

#include <ashlar/models/image_text_model.hpp>
#include <ashlar/models/sequence_model.hpp>
#include <ashlar/models/text_encoder.hpp>
#include <ashlar/models/vision_model.hpp>

#include "model_group.hpp"

namespace ashlar::examples {

extern const ModelGroup<TextEncoder> text_encoders;  // BERT and its kin
extern const ModelGroup<SequenceModel> t5_families, bart_families, whisper_families,
    transformer_2017_families;
extern const ModelGroup<VisionModel> vit_families, dinov2_families, cait_families;
extern const ModelGroup<ImageTextModel> clip_families;

}  // namespace ashlar::examples
