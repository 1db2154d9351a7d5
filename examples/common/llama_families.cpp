#include <ashlar/models/presets/llama.hpp>
#include <ashlar/models/presets/mistral.hpp>
#include <ashlar/models/presets/phi3.hpp>
#include <ashlar/models/presets/qwen2.hpp>
#include <ashlar/models/presets/qwen3.hpp>

#include "family_group.hpp"

namespace ashlar::examples {

const FamilyGroup llama_families =
    make_group(Families<LlamaFamily, MistralFamily, Qwen2Family, Qwen3Family, Phi3Family>{});

}  // namespace ashlar::examples
