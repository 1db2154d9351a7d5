// embedding straight into the rows of the result.
#pragma once

#include <ashlar/kernels/simd/rows.hpp>
#include <ashlar/ops/embedding.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

template <>
struct EmbeddingKernel<backend::SimdCpu> : EmbeddingKernel<backend::ScalarCpu> {
  using EmbeddingKernel<backend::ScalarCpu>::run;

  static void run(HostContext& ctx, VectorView<const std::int32_t> tokens,
                  const WeightMatrix& table, MatrixView<float> y) {
    simd::for_each_row(ctx, tokens.extent(0), table.columns(),
                       [&](index_t m, int) { decode_row(table, tokens(m), y.row(m)); });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
