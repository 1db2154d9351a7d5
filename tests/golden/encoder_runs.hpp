// The functions that run golden encoders, one a family; defined and instantiated in files of their
// own, so that they are compiled side by side.
#pragma once

#include "model_case.hpp"

namespace golden {

template <class B>
struct EncoderRuns {
  static void bert(const ModelCase&);
};

}  // namespace golden
