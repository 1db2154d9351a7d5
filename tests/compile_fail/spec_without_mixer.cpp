// expect: no type named .Mixer.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

struct MySpec {
  using Norm = RmsNorm;
#if defined(FIXED)
  using Mixer = Attention<Rope>;
#endif
  using Ffn = SwiGlu;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
};

DecoderBlock<MySpec>::Config config;
