// Golden vision models on SimdCpu.
#include <ashlar/simd.hpp>

#include "encoder_vision.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::SimdCpu>::vit(const ModelCase&);
template void EncoderRuns<ashlar::backend::SimdCpu>::vit_22b(const ModelCase&);
template void EncoderRuns<ashlar::backend::SimdCpu>::dinov2(const ModelCase&);
template void EncoderRuns<ashlar::backend::SimdCpu>::cait(const ModelCase&);

}  // namespace golden
