#include <ashlar/models/presets/falcon.hpp>
#include <ashlar/models/presets/nemotron.hpp>
#include <ashlar/models/presets/phi.hpp>
#include <ashlar/models/presets/stablelm.hpp>
#include <ashlar/models/presets/starcoder2.hpp>

#include "family_group.hpp"

namespace ashlar::examples {

const FamilyGroup falcon_families = make_group(
    Families<FalconFamily, NemotronFamily, Starcoder2Family, StableLmFamily, PhiFamily>{});

}  // namespace ashlar::examples
