// Golden T5 models, both kinds on ScalarCpu.
#include "encoder_t5.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::ScalarCpu>::t5(const ModelCase&);

}  // namespace golden
