// Golden CLIP on ScalarCpu.
#include "encoder_clip.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::ScalarCpu>::clip(const ModelCase&);

}  // namespace golden
