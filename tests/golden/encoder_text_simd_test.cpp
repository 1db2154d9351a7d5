// Golden BERT and its kin on SimdCpu.
#include <ashlar/simd.hpp>

#include "encoder_text.hpp"
#include "sentences.hpp"

namespace golden {

template void EncoderRuns<ashlar::backend::SimdCpu>::bert(const ModelCase&);
template void EncoderRuns<ashlar::backend::SimdCpu>::roberta(const ModelCase&);
template void EncoderRuns<ashlar::backend::SimdCpu>::modernbert(const ModelCase&);
template void EncoderRuns<ashlar::backend::SimdCpu>::sentences(const RealCase&);

}  // namespace golden
