#include <ashlar/models/presets/t5.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<SequenceModel> t5_families =
    make_sequence_models(Families<T5Family, T5GatedFamily>{});

}  // namespace ashlar::examples
