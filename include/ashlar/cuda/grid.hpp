// The size of a launch.
#pragma once

#include <ashlar/core/types.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Blocks of a launch in three dimensions.
struct Grid {
  index_t x = 1, y = 1, z = 1;
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
