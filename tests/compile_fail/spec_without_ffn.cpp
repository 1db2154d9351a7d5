// expect: no type named .Ffn.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

struct MySpec {
  using Norm = RmsNorm;
  using Mixer = Attention<Rope>;
#if defined(FIXED)
  using Ffn = SwiGlu;
#endif
  using Residual = PlainResidual;
  using Wiring = PreNorm;
};

DecoderBlock<MySpec>::Config config;
