// Golden BERT and its kin on ScalarCpu.
#include "encoder_text.hpp"
#include "sentences.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::ScalarCpu>::bert(const ModelCase&);
template void EncoderRuns<ashlar::backend::ScalarCpu>::roberta(const ModelCase&);
template void EncoderRuns<ashlar::backend::ScalarCpu>::modernbert(const ModelCase&);
template void EncoderRuns<ashlar::backend::ScalarCpu>::sentences(const RealCase&);

}  // namespace golden
