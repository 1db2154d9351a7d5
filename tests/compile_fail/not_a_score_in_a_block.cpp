// expect: ScoreChoice|ScorePolicy
#include <ashlar/ashlar.hpp>

using namespace ashlar;

struct Nearness {
#if defined(FIXED)
  float operator()(float s, index_t, index_t, index_t q, index_t k) const {
    return s - static_cast<float>(q - k);
  }
#else
  float operator()(float s, index_t distance) const { return s - static_cast<float>(distance); }
#endif
};
struct MySpec : LlamaSpec {
  using Mixer = Attention<Rope, NoQkNorm, CausalMask, Nearness>;
};

DecoderBlock<MySpec>::Config config;
