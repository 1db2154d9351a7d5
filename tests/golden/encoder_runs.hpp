// The functions that run golden encoders, one a family; defined and instantiated in files of their
// own, so that they are compiled side by side.
#pragma once

#include "model_case.hpp"
#include "real_case.hpp"

namespace golden {

template <class B>
struct EncoderRuns {
  static void bert(const ModelCase&);
  static void roberta(const ModelCase&);
  static void modernbert(const ModelCase&);
  static void t5(const ModelCase&);
  static void bart(const ModelCase&);
  static void whisper(const ModelCase&);
  static void transformer_2017(const ModelCase&);
  static void vit(const ModelCase&);
  static void vit_22b(const ModelCase&);
  static void dinov2(const ModelCase&);
  static void cait(const ModelCase&);
  static void clip(const ModelCase&);
  static void sentences(const RealCase&);
};

}  // namespace golden
