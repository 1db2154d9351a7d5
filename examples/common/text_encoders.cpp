#include <ashlar/models/presets/bert.hpp>
#include <ashlar/models/presets/modernbert.hpp>
#include <ashlar/models/presets/roberta.hpp>

#include "make_model_group.hpp"

namespace ashlar::examples {

const ModelGroup<TextEncoder> text_encoders =
    make_text_encoders(Families<BertFamily, RobertaFamily, XlmRobertaFamily, ModernBertFamily>{});

}  // namespace ashlar::examples
