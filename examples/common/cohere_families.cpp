#include <ashlar/models/presets/cohere.hpp>
#include <ashlar/models/presets/cohere2.hpp>
#include <ashlar/models/presets/ernie4_5.hpp>
#include <ashlar/models/presets/glm4.hpp>

#include "family_group.hpp"

namespace ashlar::examples {

const FamilyGroup cohere_families =
    make_group(Families<CohereFamily, Cohere2Family, Glm4Family, Ernie45Family>{});

}  // namespace ashlar::examples
