// The look at token ids that models take before anything changes.
#pragma once

#include <ashlar/core/view.hpp>
#include <cstdint>
#include <string_view>

namespace ashlar::inline ASHLAR_ABI::detail {

/// Throws ValueError "model: kind t of sequence b is .." unless all ids [B, T] are below `count`.
inline void check_tokens(std::string_view model, std::string_view kind,
                         MatrixView<const std::int32_t> ids, index_t count) {
  for (index_t b = 0; b < ids.extent(0); ++b)
    for (index_t t = 0; t < ids.extent(1); ++t)
      if (const index_t id = ids(b, t); id < 0 || id >= count)
        fail<ValueError>(model, ": ", kind, " ", t, " of sequence ", b, " is ", id,
                         ", expected 0 to ", count - 1);
}

}  // namespace ashlar::inline ASHLAR_ABI::detail
