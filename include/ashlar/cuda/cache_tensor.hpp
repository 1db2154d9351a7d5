// Keys or values of a cache as a tensor of rows: of an element type, or quantised.
#pragma once

#include <ashlar/core/q8_0.hpp>
#include <ashlar/core/view.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Rows of Q8_0: codes [.., H] and their scales [.., Q8_0::scales(H)], each with strides of its
/// own. Scales of neighbouring keys that lie side by side are read in fewer pieces.
struct Q8Tensor {
  TensorView<const std::int8_t, 4> codes;
  TensorView<const half, 4> scales;

  ASHLAR_HD index_t extent(int r) const { return codes.extent(r); }
};

/// A tensor of rows of E.
template <class E>
using CacheTensor = std::conditional_t<std::is_same_v<E, Q8_0>, Q8Tensor, TensorView<const E, 4>>;

/// Row (i, j) of a head of such a tensor [i, j, heads, width]: its first element, or a Q8Row.
/// Either gives element e as [e].
template <class E>
ASHLAR_HD const E* cache_row(const TensorView<const E, 4>& x, index_t i, index_t j, index_t head) {
  return x.data() + i * x.stride(0) + j * x.stride(1) + head * x.stride(2);
}
ASHLAR_HD inline Q8Row cache_row(const Q8Tensor& x, index_t i, index_t j, index_t head) {
  return {cache_row(x.codes, i, j, head), cache_row(x.scales, i, j, head)};
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
