// A norm of your own, in a model on SIMD kernels.
#include "common/own_model.hpp"

using namespace ashlar;

// y = x / mean |x| * gain: the first absolute moment in place of the second. A norm has numbers
// (Config), weights with names, and a function of rows.
struct MeanAbsNorm {
  struct Config {
    float eps = 1e-6f;
  };
  struct Weights {
    VectorView<const float> gain;
  };
  static void visit(Weights& w, const Config&, index_t width, auto&& f) {
    f("gain", w.gain, {width});
  }
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config& c, const Weights& w, MatrixView<const T> x,
                    MatrixView<T> y) {
    for (index_t m = 0; m < x.extent(0); ++m) {
      using A = accumulator_t<T>;  // float for 16-bit T: sums are never in T
      A sum = 0;
      for (index_t i = 0; i < x.extent(1); ++i) sum += std::abs(A(x(m, i)));
      const A scale = static_cast<A>(x.extent(1)) / (sum + A(c.eps));
      for (index_t i = 0; i < x.extent(1); ++i) y(m, i) = T(A(x(m, i)) * scale * A(w.gain(i)));
    }
  }
};

struct MySpec : LlamaSpec {
  using Norm = MeanAbsNorm;
};

int main() {
  return examples::run_own_model<MySpec>("a norm of its own", [](auto& layer) {
    layer.mixer.position.rule.width = layer.dims.head_dim;
  });
}
