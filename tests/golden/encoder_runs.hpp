// The functions that run golden encoders, one a family; defined and instantiated in files of their
// own, so that they are compiled side by side.
#pragma once

#include "model_case.hpp"

namespace golden {

template <class B>
struct EncoderRuns {
  static void bert(const ModelCase&);
  static void roberta(const ModelCase&);
  static void modernbert(const ModelCase&);
  static void t5(const ModelCase&);
  static void bart(const ModelCase&);
  static void whisper(const ModelCase&);
};

}  // namespace golden
