#include <ashlar/models/presets/whisper.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<SequenceModel> whisper_families = make_sequence_models(Families<WhisperFamily>{});

}  // namespace ashlar::examples
