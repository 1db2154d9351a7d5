// expect: required expression .P::apply|P::apply.* would be invalid
#include <ashlar/ashlar.hpp>

using namespace ashlar;

struct ScaleNorm {
  struct Config {};
  struct Weights {
    VectorView<const float> gain;
  };
  static void visit(Weights& w, const Config&, index_t width, auto&& f) {
    f("gain", w.gain, {width});
  }
#if defined(FIXED)
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, MatrixView<const T>,
                    MatrixView<T>) {}
#endif
};
struct MySpec : LlamaSpec {
  using Norm = ScaleNorm;
};

DecoderBlock<MySpec>::Config config;
