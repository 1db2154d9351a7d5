// Families of one translation unit whose models have one run-time interface.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "progress_line.hpp"

namespace ashlar::examples {

template <class Interface>
struct ModelGroup {
  bool (*accepts)(const Checkpoint&);
  std::string (*names)();
  /// Throws ValueError for a backend that there is not, and what loading throws.
  std::unique_ptr<Interface> (*load)(const Checkpoint&, std::string_view backend, Executor,
                                     ProgressLine&);
};

}  // namespace ashlar::examples
