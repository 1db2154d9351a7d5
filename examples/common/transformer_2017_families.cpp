#include <ashlar/models/presets/transformer_2017.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<SequenceModel> transformer_2017_families =
    make_sequence_models(Families<Transformer2017Family, Transformer2017PreNormFamily>{});

}  // namespace ashlar::examples
