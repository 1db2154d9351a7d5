// The golden transformers of 2017 on SimdCpu.
#include <ashlar/simd.hpp>

#include "encoder_transformer.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::SimdCpu>::transformer_2017(const ModelCase&);

}  // namespace golden
