// The golden transformers of 2017 on ScalarCpu.
#include "encoder_transformer.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::ScalarCpu>::transformer_2017(const ModelCase&);

}  // namespace golden
