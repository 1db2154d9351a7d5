#include <ashlar/models/presets/exaone4.hpp>
#include <ashlar/models/presets/granite.hpp>
#include <ashlar/models/presets/olmo2.hpp>
#include <ashlar/models/presets/olmo3.hpp>
#include <ashlar/models/presets/smollm3.hpp>

#include "family_group.hpp"

namespace ashlar::examples {

const FamilyGroup olmo_families =
    make_group(Families<Olmo2Family, Olmo3Family, Exaone4Family, SmolLm3Family, GraniteFamily>{});

}  // namespace ashlar::examples
