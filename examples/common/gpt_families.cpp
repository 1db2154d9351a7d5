#include <ashlar/models/presets/bloom.hpp>
#include <ashlar/models/presets/gpt2.hpp>
#include <ashlar/models/presets/gpt_neox.hpp>
#include <ashlar/models/presets/gptj.hpp>
#include <ashlar/models/presets/mpt.hpp>
#include <ashlar/models/presets/opt.hpp>

#include "family_group.hpp"

namespace ashlar::examples {

const FamilyGroup gpt_families = make_group(
    Families<Gpt2Family, GptjFamily, GptNeoxFamily, OptFamily, BloomFamily, MptFamily>{});

}  // namespace ashlar::examples
