// Golden T5 models, both kinds on SimdCpu.
#include <ashlar/simd.hpp>

#include "encoder_t5.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::SimdCpu>::t5(const ModelCase&);

}  // namespace golden
