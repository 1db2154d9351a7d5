#include <ashlar/models/presets/gemma4.hpp>

#include "family_group.hpp"

namespace ashlar::examples {

const FamilyGroup gemma4_families = make_group(Families<Gemma4Family>{});

}  // namespace ashlar::examples
