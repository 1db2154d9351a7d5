// Products of many rows, which cuBLASLt does.
#pragma once

#include <ashlar/cuda/context.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// y = x w^T in f32, rounded once to T.
///
/// Shapes   x [M, K], w [N, K], y [M, N]
/// Throws   ValueError for a context without MatrixProducts, CudaError
/// Defined in cuda/product.cuh; tests define it for a device that is emulated on the host.
template <class T>
void multiply(Context<backend::CudaGpu>& ctx, MatrixView<const T> x, MatrixView<const T> w,
              MatrixView<T> y);

}  // namespace ashlar::inline ASHLAR_ABI::cuda
