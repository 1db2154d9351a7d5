// expect: Norm
#include <ashlar/ashlar.hpp>

using namespace ashlar;

// A pre-norm wiring, and nothing to norm with.
struct MySpec {
#if defined(FIXED)
  using Norm = RmsNorm;
#endif
  using Mixer = Attention<Rope>;
  using Ffn = SwiGlu;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
};

DecoderBlock<MySpec>::Config config;
