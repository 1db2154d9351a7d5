// Golden CLIP on SimdCpu.
#include <ashlar/simd.hpp>

#include "encoder_clip.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::SimdCpu>::clip(const ModelCase&);

}  // namespace golden
