// The golden transformers of 2017, both kinds.
#pragma once

#include <ashlar/models/presets/transformer_2017.hpp>

#include "encoder_decoder.hpp"

namespace golden {

template <class B>
void EncoderRuns<B>::transformer_2017(const ModelCase& c) {
  using ashlar::Transformer2017Family, ashlar::Transformer2017PreNormFamily;
  const ashlar::Checkpoint checkpoint(c.folder());
  EXPECT_NE(Transformer2017Family::accepts(checkpoint),
            Transformer2017PreNormFamily::accepts(checkpoint));
  if (Transformer2017Family::accepts(checkpoint))
    sequence_model<B, Transformer2017Family>(c);
  else
    sequence_model<B, Transformer2017PreNormFamily>(c);
}

}  // namespace golden
