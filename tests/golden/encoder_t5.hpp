// Golden T5 models, both kinds.
#pragma once

#include <ashlar/models/presets/t5.hpp>

#include "encoder_decoder.hpp"

namespace golden {

template <class B>
void EncoderRuns<B>::t5(const ModelCase& c) {
  const ashlar::Checkpoint checkpoint(c.folder());
  EXPECT_NE(ashlar::T5Family::accepts(checkpoint), ashlar::T5GatedFamily::accepts(checkpoint));
  if (ashlar::T5Family::accepts(checkpoint))
    sequence_model<B, ashlar::T5Family>(c);
  else
    sequence_model<B, ashlar::T5GatedFamily>(c);
}

}  // namespace golden
