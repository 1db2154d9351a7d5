// embedding on a device.
#pragma once

#include <ashlar/cuda/embedding_rows.hpp>
#include <ashlar/cuda/launch.hpp>
#include <ashlar/cuda/weight_types.hpp>
#include <ashlar/ops/embedding.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {

/// Tokens lie on the device and are not looked at: one outside the table gives a row of NaN.
template <>
struct EmbeddingKernel<backend::CudaGpu> {
  template <Element T>
  static void run(Context<backend::CudaGpu>& ctx, VectorView<const std::int32_t> tokens,
                  const WeightMatrix& table, MatrixView<T> y) {
    cuda::with_weight_type("embedding", table.type(), [&]<DType Type>() {
      const cuda::EmbeddingArguments<T> a{tokens, cuda::DeviceWeights(table), y};
      if (table.layout() == WeightLayout::panels)
        cuda::launch<cuda::EmbeddingRows<Type, WeightLayout::panels, T>>(ctx, "embedding", a);
      else
        cuda::launch<cuda::EmbeddingRows<Type, WeightLayout::rows, T>>(ctx, "embedding", a);
    });
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
