// Golden BERT and its kin on ScalarCpu.
#include "encoder_text.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::ScalarCpu>::bert(const ModelCase&);

}  // namespace golden
