// The types of weights that there is device code for.
#pragma once

#include <ashlar/core/dtype.hpp>
#include <ashlar/core/error.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

constexpr bool is_weight_type(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16 || type == DType::q8_0 ||
         type == DType::q4_0 || type == DType::q4_1;
}

/// f.template operator()<DType::q8_0>(), and so on: the one place where a type of weights that is
/// known at run time becomes a kernel. Throws ValueError for one without device code.
template <class F>
void with_weight_type(std::string_view op, DType type, F&& f) {
  switch (type) {
    case DType::f32:
      return f.template operator()<DType::f32>();
    case DType::f16:
      return f.template operator()<DType::f16>();
    case DType::bf16:
      return f.template operator()<DType::bf16>();
    case DType::q8_0:
      return f.template operator()<DType::q8_0>();
    case DType::q4_0:
      return f.template operator()<DType::q4_0>();
    case DType::q4_1:
      return f.template operator()<DType::q4_1>();
    default:
      fail<ValueError>(
          op, ": weights of type ", info(type).name,
          ", expected F32, F16, BF16, Q8_0, Q4_0 or Q4_1 (cuda::upload converts others)");
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
