// The backend CudaGpu and its context: a stream and a workspace of the caller's.
#pragma once

#include <ashlar/backend/backend.hpp>
#include <ashlar/backend/scratch.hpp>
#include <ashlar/cuda/device.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace cuda {
class MatrixProducts;  // products of cuBLASLt

/// How matrix products of f32 are formed.
enum class FloatProducts {
  exact,  // factors and sums of f32
  tf32    // factors rounded to 11 significant bits, on tensor cores; sums of f32
};
}  // namespace cuda

namespace backend {
struct CudaGpu {
  using fallback = None;  // no kernel of a host runs on a device's memory
  static constexpr std::string_view name = "cuda";
  static constexpr MemorySpace space = MemorySpace::device;
};
}  // namespace backend

/// A stream and a workspace of the caller's, both outliving the context. Ops enqueue on the stream
/// and return: nothing allocates memory or waits. They take temporary memory from the workspace and
/// give it back when they return, as the next op on the stream runs after them.
template <>
class Context<backend::CudaGpu> {
 public:
  /// Throws ValueError unless the workspace begins at a multiple of 256 bytes.
  Context(const cuda::Device& device, CUstream_st* stream, void* workspace = nullptr,
          std::size_t workspace_bytes = 0)
      : device_(device), stream_(stream), scratch_(workspace, workspace_bytes) {}

  const cuda::Device& device() const { return device_; }
  CUstream_st* stream() const { return stream_; }

  /// The workspace.
  Scratch& scratch() { return scratch_; }
  /// Memory of the device. No op calls it.
  void* allocate(std::size_t bytes) { return device_.with_functions().allocate(bytes); }
  void deallocate(void* p, std::size_t) { device_.deallocate(p); }
  /// Waits until everything on the stream is done. Throws cuda::CudaError.
  void synchronize() { device_.with_functions().synchronize(stream_); }

  /// What linear() needs for more rows than its own kernels take: see cuda/product.cuh.
  cuda::MatrixProducts* products() const { return products_; }
  void set_products(cuda::MatrixProducts* products) { products_ = products; }
  /// Of attention() and of linear()'s products of more than 8 rows.
  cuda::FloatProducts float_products() const { return float_products_; }
  void set_float_products(cuda::FloatProducts kind) { float_products_ = kind; }

 private:
  cuda::Device device_;
  CUstream_st* stream_;
  Scratch scratch_;
  cuda::MatrixProducts* products_ = nullptr;
  cuda::FloatProducts float_products_ = cuda::FloatProducts::exact;
};
static_assert(Backend<backend::CudaGpu>);

}  // namespace ashlar::inline ASHLAR_ABI
