// Published shapes by name, and models that are given as files.
#pragma once

#include <span>

#include "costs.hpp"

namespace ashlar::examples {

/// A published model of Llama's or GPT-2's kind.
struct Preset {
  std::string name;
  bool gpt2 = false;
  index_t context = 0;
  plan::Shape shape;
};

std::span<const Preset> presets();
/// Costs of a preset by name, of a .gguf file, or of a folder with config.json (weights may be
/// missing). Throws ValueError for a name that is none of them.
Costs costs_of(const std::string& name, const CostOptions& options);
/// Costs of a shape in Llama's spec, or GPT-2's if its feed-forward is plain.
Costs costs_of(const std::string& name, const plan::Shape& shape, const CostOptions& options);

}  // namespace ashlar::examples
