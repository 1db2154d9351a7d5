// expect: MixerPolicy
#include <ashlar/ashlar.hpp>

using namespace ashlar;

// A mixer that forgot its state.
struct Copy {
  struct Config {};
  struct Weights {};
  struct State {};
  static void visit(Weights&, const Config&, const Dims&, auto&&) {}
  static State make_state(const Config&, const Dims&, index_t, index_t) { return {}; }
#if defined(FIXED)
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, const Dims&, const TokenBatch&,
                    State*, MatrixView<const T>, MatrixView<T>) {}
#else
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, const Dims&, const TokenBatch&,
                    MatrixView<const T>, MatrixView<T>) {}
#endif
};
struct MySpec : LlamaSpec {
  using Mixer = Copy;
};

DecoderBlock<MySpec>::Config config;
