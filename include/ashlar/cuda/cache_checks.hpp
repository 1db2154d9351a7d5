// What is checked of a cache before a launch: its extents, which lie on the host.
#pragma once

#include <ashlar/cuda/key_source.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Throws ShapeError unless a quantised tensor has the scales that its width needs.
inline void check_scales(std::string_view op, std::string_view name, const Q8Tensor& x) {
  expect_shape(op, name, x.scales,
               {x.extent(0), x.extent(1), x.extent(2), Q8_0::scales(x.extent(3))});
}
/// Throws ShapeError unless values are rows of the same sequences, slots and heads as keys, and
/// pages have the rows that the table counts.
template <class Source>
void check_cache(std::string_view op, const Source& kv) {
  for (int r = 0; r < 3; ++r)
    if (kv.k.extent(r) != kv.v.extent(r))
      fail<ShapeError>(op, ": v has an extent ", r, " of ", kv.v.extent(r),
                       ", expected that of k, ", kv.k.extent(r));
  if constexpr (std::is_same_v<typename Source::element_type, Q8_0>) {
    check_scales(op, "scales of k", kv.k);
    check_scales(op, "scales of v", kv.v);
  }
  if constexpr (requires { kv.table; })
    if (kv.log2_page < 0 || kv.log2_page > 30 || kv.k.extent(1) != index_t{1} << kv.log2_page)
      fail<ShapeError>(op, ": pages of k have ", kv.k.extent(1), " rows, log2_page is ",
                       kv.log2_page);
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
