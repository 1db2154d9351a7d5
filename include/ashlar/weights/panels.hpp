// placeholder
#pragma once
#include <ashlar/core/quant.hpp>
#include <ashlar/weights/weight_matrix.hpp>
namespace ashlar::inline ASHLAR_ABI {
inline void decode_row(const WeightMatrix& w, index_t n, float* out) {
  decode_elements(w.type(), w.data() + n * w.row_bytes(), w.columns(), out);
}
}  // namespace ashlar::inline ASHLAR_ABI
