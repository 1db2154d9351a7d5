// Golden BART and Whisper.
#pragma once

#include <ashlar/models/presets/bart.hpp>
#include <ashlar/models/presets/whisper.hpp>

#include "encoder_decoder.hpp"

namespace golden {

template <class B>
void EncoderRuns<B>::bart(const ModelCase& c) {
  sequence_model<B, ashlar::BartFamily>(c);
}
template <class B>
void EncoderRuns<B>::whisper(const ModelCase& c) {
  sequence_model<B, ashlar::WhisperFamily>(c);
}

}  // namespace golden
