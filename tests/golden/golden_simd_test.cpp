// Golden cases on the SIMD kernels.
#include <ashlar/simd.hpp>

#include "runners.hpp"

namespace golden {
namespace {

[[maybe_unused]] const bool registered = register_cases(all_runners<ashlar::backend::SimdCpu>());

}  // namespace
}  // namespace golden
