// MatrixProducts: cuBLASLt, for products of many rows. Programs that call linear() with more than 8
// rows link cublasLt.
#pragma once

#include <cublasLt.h>

#include <algorithm>
#include <ashlar/cuda/launch.cuh>
#include <ashlar/cuda/product.hpp>
#include <bit>
#include <map>
#include <memory>
#include <tuple>

namespace ashlar::inline ASHLAR_ABI::cuda {

namespace detail {
inline void check_products(std::string_view call, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail_cuda(call, static_cast<int>(status), cublasLtGetStatusName(status),
              cublasLtGetStatusString(status));
}
}  // namespace detail

/// A handle of cuBLASLt and, for each shape, the algorithm that its heuristic chose: the first call
/// of a shape asks it. Made once by the caller, given to contexts, used by one thread at a time.
class MatrixProducts {
 public:
  /// Throws CudaError.
  MatrixProducts() { detail::check_products("cublasLtCreate", cublasLtCreate(&handle_)); }
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;
  ~MatrixProducts() { cublasLtDestroy(handle_); }

  /// y = x w^T, as multiply(). Temporary memory is the context's workspace: 32 MiB at most.
  template <class T>
  void run(Context<backend::CudaGpu>& ctx, MatrixView<const T> x, MatrixView<const T> w,
           MatrixView<T> y) {
    const Plan& plan = plan_of(x, w, y, ctx.float_products());
    Scratch::Frame frame(ctx.scratch());
    void* memory = plan.workspace ? frame.get<char>(static_cast<index_t>(plan.workspace)) : nullptr;
    const float one = 1.f, zero = 0.f;
    // In cuBLASLt's column order y is y^T [N, M] = w x^T, with w [K, N] to be transposed.
    detail::check_products(
        "cublasLtMatmul",
        cublasLtMatmul(handle_, plan.product.get(), &one, w.data(), plan.w.get(), x.data(),
                       plan.x.get(), &zero, y.data(), plan.y.get(), y.data(), plan.y.get(),
                       &plan.algorithm, memory, plan.workspace, ctx.stream()));
  }

 private:
  static constexpr std::size_t most_workspace = std::size_t{32} << 20;

  template <auto Destroy>
  struct Deleter {
    template <class P>
    void operator()(P* p) const {
      Destroy(p);
    }
  };
  using Layout =
      std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Deleter<cublasLtMatrixLayoutDestroy>>;
  using Product = std::unique_ptr<cublasLtMatmulDescOpaque_t, Deleter<cublasLtMatmulDescDestroy>>;
  using Preference =
      std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Deleter<cublasLtMatmulPreferenceDestroy>>;
  struct Plan {
    Product product;
    Layout w, x, y;
    cublasLtMatmulAlgo_t algorithm{};
    std::size_t workspace = 0;
  };
  /// Type, extents, strides and the common alignment of the three matrices.
  using Key = std::tuple<int, index_t, index_t, index_t, index_t, index_t, index_t, std::uint32_t>;

  template <class T>
  static constexpr cudaDataType_t type_of = std::is_same_v<T, float>  ? CUDA_R_32F
                                            : std::is_same_v<T, half> ? CUDA_R_16F
                                                                      : CUDA_R_16BF;
  /// The largest power of two, 256 at most, that every row begins at a multiple of.
  template <class T>
  static std::uint32_t alignment_of(const MatrixView<T>& x) {
    const auto bits = reinterpret_cast<std::uintptr_t>(x.data()) |
                      static_cast<std::uintptr_t>(x.stride(0)) * sizeof(T) | 256u;
    return 1u << std::countr_zero(bits);
  }
  template <class T>
  static Layout layout_of(const MatrixView<T>& x) {
    cublasLtMatrixLayout_t layout = nullptr;
    detail::check_products(
        "cublasLtMatrixLayoutCreate",
        cublasLtMatrixLayoutCreate(&layout, type_of<std::remove_const_t<T>>,
                                   static_cast<std::uint64_t>(x.extent(1)),
                                   static_cast<std::uint64_t>(x.extent(0)), x.stride(0)));
    return Layout(layout);
  }

  template <class T>
  const Plan& plan_of(MatrixView<const T> x, MatrixView<const T> w, MatrixView<T> y,
                      FloatProducts floats) {
    const bool tf32 = std::is_same_v<T, float> && floats == FloatProducts::tf32;
    const std::uint32_t alignment =
        std::min({alignment_of(x), alignment_of(w), alignment_of(MatrixView<const T>(y))});
    const Key key{tf32 ? -1 : static_cast<int>(type_of<T>),
                  x.extent(0),
                  w.extent(0),
                  w.extent(1),
                  x.stride(0),
                  w.stride(0),
                  y.stride(0),
                  alignment};
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
    Plan plan;
    cublasLtMatmulDesc_t product = nullptr;
    detail::check_products(
        "cublasLtMatmulDescCreate",
        cublasLtMatmulDescCreate(&product, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F));
    plan.product.reset(product);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    detail::check_products("cublasLtMatmulDescSetAttribute",
                           cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA,
                                                          &transposed, sizeof transposed));
    plan.w = layout_of(w);
    plan.x = layout_of(x);
    plan.y = layout_of(y);
    cublasLtMatmulPreference_t preference = nullptr;
    detail::check_products("cublasLtMatmulPreferenceCreate",
                           cublasLtMatmulPreferenceCreate(&preference));
    const Preference owner(preference);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
      detail::check_products(
          "cublasLtMatmulPreferenceSetAttribute",
          cublasLtMatmulPreferenceSetAttribute(preference, which, &value, sizeof value));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
    for (const auto which :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(which, alignment);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    detail::check_products(
        "cublasLtMatmulAlgoGetHeuristic",
        cublasLtMatmulAlgoGetHeuristic(handle_, product, plan.w.get(), plan.x.get(), plan.y.get(),
                                       plan.y.get(), preference, 1, &best, &found));
    if (found == 0)
      fail<ValueError>("linear: cuBLASLt has no product of ", x.extent(0), " x ", w.extent(1),
                       " and ", w.extent(0), " x ", w.extent(1), " elements");
    plan.algorithm = best.algo;
    plan.workspace = best.workspaceSize;
    return plans_.emplace(key, std::move(plan)).first->second;
  }

  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, Plan> plans_;
};

template <class T>
void multiply(Context<backend::CudaGpu>& ctx, MatrixView<const T> x, MatrixView<const T> w,
              MatrixView<T> y) {
  if (ctx.products() == nullptr)
    fail<ValueError>("linear: ", x.extent(0),
                     " rows need cuBLASLt, and the context has no MatrixProducts: make a "
                     "cuda::MatrixProducts and call set_products");
  ctx.products()->run(ctx, x, w, y);
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
