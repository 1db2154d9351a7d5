// Golden BART and Whisper on SimdCpu.
#include <ashlar/simd.hpp>

#include "encoder_bart.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::SimdCpu>::bart(const ModelCase&);
template void EncoderRuns<ashlar::backend::SimdCpu>::whisper(const ModelCase&);

}  // namespace golden
