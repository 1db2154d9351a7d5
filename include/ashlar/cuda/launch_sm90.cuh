// Launches of kernels of sm_90a: their __global__ function, and the tensor maps that the driver
// makes.
#pragma once

#include <cuda.h>

#include <ashlar/cuda/ptx_sm90.cuh>
#include <ashlar/cuda/runtime.cuh>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// The function that a kernel of sm_90a runs in. Compiled without the features of sm_90a it is
/// empty, and made for fewer threads than a launch has: so it tells what it is.
inline constexpr int threads_without_sm90a = 32;
template <class Kernel>
__global__ void __launch_bounds__(PtxSm90::available ? Kernel::threads : threads_without_sm90a, 1)
    sm90_kernel_shell(const __grid_constant__ typename Kernel::Mapped arguments) {
  if constexpr (PtxSm90::available) Kernel::template run<PtxSm90>(arguments);
}

/// Whether the code that the driver has chosen for the device is of sm_90a: the list of compiled
/// architectures does not tell it from sm_90. Throws CudaError.
template <class Kernel>
bool has_sm90a_code(const Device& device) {
  constexpr int compiled[] = {__CUDA_ARCH_LIST__};
  bool of_90 = false;
  for (const int a : compiled) of_90 = of_90 || a == 900;
  if (device.architecture != 90 || !of_90) return false;
  cudaFuncAttributes attributes{};
  check("cudaFuncGetAttributes",
        cudaFuncGetAttributes(&attributes,
                              reinterpret_cast<const void*>(&sm90_kernel_shell<Kernel>)));
  return attributes.maxThreadsPerBlock > threads_without_sm90a;
}

/// The driver's function that makes tensor maps; a program links without the driver's library.
inline auto tensor_map_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t code = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                            12000, cudaEnableDefault, &found);
#else
  const cudaError_t code =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  check("cudaGetDriverEntryPoint", code);
  if (found != cudaDriverEntryPointSuccess || function == nullptr)
    fail_cuda("cuTensorMapEncodeTiled", static_cast<int>(cudaErrorNotSupported),
              "cudaErrorNotSupported", "the driver is older than CUDA 12");
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

/// A map of boxes of 64 x rows elements with the 128-byte swizzle; zeros outside of the tensor.
inline TensorMap encode_tensor_map(decltype(&cuTensorMapEncodeTiled) encode, const TensorBoxes& t) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) &&
                alignof(TensorMap) >= alignof(CUtensorMap));
  const cuuint64_t extents[4] = {t.extents[0], t.extents[1], t.extents[2], t.extents[3]};
  const cuuint64_t strides[3] = {t.strides[0], t.strides[1], t.strides[2]};
  const cuuint32_t box[4] = {64, t.rows, 1, 1}, every[4] = {1, 1, 1, 1};
  TensorMap map;
  const CUresult result =
      encode(reinterpret_cast<CUtensorMap*>(&map), CU_TENSOR_MAP_DATA_TYPE_UINT16, 4,
             const_cast<void*>(t.data), extents, strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    fail_cuda("cuTensorMapEncodeTiled", static_cast<int>(result), "CUresult",
              "the driver makes no map of this tensor");
  return map;
}

/// launch() of a kernel of sm_90a. Throws ValueError when the program or the device has not what it
/// needs.
template <class Kernel>
void launch_sm90(const Context<backend::CudaGpu>& ctx, std::string_view name,
                 const typename Kernel::Arguments& arguments) {
  constexpr int compiled[] = {__CUDA_ARCH_LIST__};
  const Device& device = ctx.device();
  check_sm90a(name, has_sm90a_code<Kernel>(device), compiled, device.architecture);
  const auto encode = tensor_map_encoder();
  enqueue(ctx, name, &sm90_kernel_shell<Kernel>, Kernel::grid(arguments), Kernel::threads,
          Kernel::shared_bytes(arguments), Kernel::mapped(arguments, [&](const TensorBoxes& t) {
            return encode_tensor_map(encode, t);
          }));
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
