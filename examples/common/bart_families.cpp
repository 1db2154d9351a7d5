#include <ashlar/models/presets/bart.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<SequenceModel> bart_families = make_sequence_models(Families<BartFamily>{});

}  // namespace ashlar::examples
