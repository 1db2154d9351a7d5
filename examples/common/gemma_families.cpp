#include <ashlar/models/presets/gemma.hpp>
#include <ashlar/models/presets/gemma2.hpp>
#include <ashlar/models/presets/gemma3.hpp>

#include "family_group.hpp"

namespace ashlar::examples {

const FamilyGroup gemma_families = make_group(Families<GemmaFamily, Gemma2Family, Gemma3Family>{});

}  // namespace ashlar::examples
