// expect: QkNormPolicy
#include <ashlar/ashlar.hpp>

using namespace ashlar;

// A norm of rows is not yet a norm of heads: it must be said how.
struct MySpec : LlamaSpec {
#if defined(FIXED)
  using Mixer = Attention<Rope, PerHeadNorm<RmsNorm>>;
#else
  using Mixer = Attention<Rope, RmsNorm>;
#endif
};

DecoderBlock<MySpec>::Config config;
