// Golden models on Eigen's matrix product, and two operations that it leaves to the SIMD kernels.
#include <ashlar/eigen.hpp>

#include "model_checks.hpp"
#include "op_rows.hpp"
#include "registry.hpp"

namespace golden {
namespace {

Runners eigen_runners() {
  using B = ashlar::backend::EigenCpu;
  Runners run;
  run.backend = std::string(B::name);
  run.ops = {{"rms_norm", rms_norm<B>}, {"glu", glu<B>}};
  run.skip_missing_ops = false;
  run.model = model<B>;
  run.real = real_first_prompt<B>;
  return run;
}

[[maybe_unused]] const bool registered = register_cases(eigen_runners());

}  // namespace
}  // namespace golden
