// expect: policy_body_error.cpp:18
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
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
#if !defined(FIXED)
    y(0) = x(0, 0) * w.gain(0);  // a matrix, called with one index
#else
    y(0, 0) = x(0, 0) * w.gain(0);
#endif
  }
};
struct MySpec : LlamaSpec {
  using Norm = ScaleNorm;
};
using Block = DecoderBlock<MySpec>;

void f(Context<backend::ScalarCpu>& ctx, const Block::Config& config, const Block::Weights& weights,
       const TokenBatch& batch, MatrixView<float> x) {
  Block::forward(ctx, config, weights, batch, nullptr, x);
}
