// Golden vision models on ScalarCpu.
#include "encoder_vision.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::ScalarCpu>::vit(const ModelCase&);
template void EncoderRuns<ashlar::backend::ScalarCpu>::vit_22b(const ModelCase&);
template void EncoderRuns<ashlar::backend::ScalarCpu>::dinov2(const ModelCase&);
template void EncoderRuns<ashlar::backend::ScalarCpu>::cait(const ModelCase&);

}  // namespace golden
