#include <ashlar/models/presets/arcee.hpp>
#include <ashlar/models/presets/chameleon.hpp>
#include <ashlar/models/presets/olmo.hpp>

#include "family_group.hpp"

namespace ashlar::examples {

const FamilyGroup chameleon_families =
    make_group(Families<ChameleonFamilies, OlmoFamily, ArceeFamily>{});

}  // namespace ashlar::examples
