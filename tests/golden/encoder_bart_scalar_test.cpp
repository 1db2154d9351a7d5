// Golden BART and Whisper on ScalarCpu.
#include "encoder_bart.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::ScalarCpu>::bart(const ModelCase&);
template void EncoderRuns<ashlar::backend::ScalarCpu>::whisper(const ModelCase&);

}  // namespace golden
